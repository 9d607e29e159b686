import type Koa from 'koa';
import type { RestState } from '../openapi/adapter.ts';
import { Refusal } from '../contract/errors.ts';
import { createAdminMiddleware } from './admin-http.ts';
import type { AdminLogin } from './admin-login.ts';
import { readMetrics } from './metrics-of-all.ts';
import { createAddressOf } from './middleware/caller-address.ts';
import { requireReady, type Readiness } from './readiness.ts';
import type { Wiring } from './wire.ts';

/** What the admin side is built from. */
export interface AdminAppOptions {
  readonly wiring: Wiring;
  readonly readiness: Readiness;
  readonly login: AdminLogin;
  readonly trustedProxies: readonly string[];
  readonly onFault: (error: unknown) => void;
}

/** The admin side as one middleware: typed procedures under /admin/trpc and, for any operator, /metrics. */
export function createAdminApp(options: AdminAppOptions): Koa.Middleware<RestState> {
  const { wiring, readiness, login } = options;
  const addressOf = createAddressOf(options.trustedProxies);
  const ready = requireReady(readiness, '/admin/');
  const procedures = createAdminMiddleware({
    services: wiring.api.services,
    login,
    addressOf: (ctx) => addressOf(ctx.req),
    onFault: options.onFault,
  });
  const demandOperator = async (authorization: string, address: string): Promise<void> => {
    const outcome = await login(authorization, address);
    if (outcome.kind === 'operator') return;
    if (outcome.kind === 'blocked') {
      throw new Refusal('RATE_LIMITED', { retryAfterSeconds: outcome.seconds });
    }
    throw new Refusal('UNAUTHORIZED', { details: ['Authorization: needs an operator token'] });
  };
  return async (ctx, next) => {
    if (ctx.path === '/metrics') {
      ctx.state.route = '/metrics';
      if (ctx.method !== 'GET') throw new Refusal('METHOD_NOT_ALLOWED', { allow: ['GET'] });
      await demandOperator(ctx.get('authorization'), addressOf(ctx.req));
      ctx.type = wiring.metrics.registry.contentType;
      ctx.body = await readMetrics(wiring.metrics.registry);
      return;
    }
    await ready(ctx, () => procedures(ctx, next));
  };
}
