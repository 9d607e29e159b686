import Koa from 'koa';
import { Router } from '@koa/router';
import type { Logger } from 'pino';
import { createRestRouter, type RestState } from '../openapi/adapter.ts';
import { logAccess } from './middleware/access-log.ts';
import { authenticate } from './middleware/api-key.ts';
import { createAddressOf } from './middleware/caller-address.ts';
import { answerErrors } from './middleware/errors.ts';
import { BodyReader } from './middleware/json-body.ts';
import { limitRate } from './middleware/rate-limit.ts';
import { giveRequestId } from './middleware/request-id.ts';
import { requireSoundRequest } from './middleware/request-line.ts';
import { createDocsRouter } from './docs.ts';
import { logFault } from './log.ts';
import { registerGauge } from './metrics.ts';
import { requireReady, type Readiness } from './readiness.ts';
import type { Wiring } from './wire.ts';

/** What the HTTP face is built from. */
export interface AppOptions {
  readonly wiring: Wiring;
  readonly readiness: Readiness;
  readonly log: Logger;
  readonly trustedProxies: readonly string[];
  readonly bodyIdleMs: number;
  /** False where only health and the admin side are served. */
  readonly servesApi: boolean;
  /** The admin side, where it shares this port. */
  readonly admin?: Koa.Middleware<RestState>;
}

/** The public HTTP face; middlewares stand in the order in which a request meets them. */
export function createApp(options: AppOptions): Koa<RestState> {
  const { wiring, log, readiness } = options;
  const { metrics, api } = wiring;
  const addressOf = createAddressOf(options.trustedProxies);
  const app = new Koa<RestState>();
  app.silent = true;
  app.use(giveRequestId);
  app.use(logAccess(log, metrics, wiring.countAnswer));
  app.use(
    answerErrors((error) => {
      metrics.faults.inc({ place: 'request' });
      logFault(log, 'request', error);
    }),
  );
  app.use(requireSoundRequest);
  const health = createHealthRouter(readiness).routes() as Koa.Middleware<RestState>;
  if (!options.servesApi) {
    app.use(health);
    if (options.admin !== undefined) app.use(options.admin);
    return app;
  }
  const bodies = new BodyReader({
    idleMs: options.bodyIdleMs,
    isFull: () => api.services.ingest.isFull,
  });
  // Here and not above: with ADMIN_PORT there are two apps of one process's metrics.
  registerGauge(
    metrics,
    'transaction_risk_body_bytes',
    'Bytes set aside for request bodies that are being received.',
    () => bodies.inFlightBytes,
  );
  const rest = createRestRouter(api.services, {
    authenticate: authenticate({
      credentials: api.credentials,
      failures: api.failedKeys,
      addressOf: (ctx) => addressOf(ctx.req),
      metrics,
    }),
    limitRate: limitRate(
      api.rateLimiter,
      metrics,
      (operation) => operation === 'submitTransaction',
    ),
    readBody: (ctx) => bodies.read(ctx),
  });
  // First what merchants call: each middleware before it would cost every event.
  app.use(requireReady(readiness, '/v1/'));
  app.use(rest.routes() as Koa.Middleware<RestState>);
  app.use(health);
  app.use(createDocsRouter().routes() as Koa.Middleware<RestState>);
  if (options.admin !== undefined) app.use(options.admin);
  return app;
}

function createHealthRouter(readiness: Readiness): Router {
  const health = new Router({ sensitive: true, strict: true });
  health.get('/healthz', (ctx) => {
    ctx.state['route'] = '/healthz';
    ctx.body = { status: 'ok' };
  });
  health.get('/readyz', async (ctx) => {
    ctx.state['route'] = '/readyz';
    const ready = await readiness.check();
    ctx.status = ready ? 200 : 503;
    if (!ready) ctx.set('Retry-After', '1');
    ctx.body = { status: ready ? 'ready' : 'waiting for the database' };
  });
  return health;
}
