import type Koa from 'koa';
import type { Logger } from 'pino';
import type { RestState } from '../../openapi/adapter.ts';
import type { Metrics } from '../metrics.ts';
import type { CountAnswer } from '../wire.ts';

/** Asked every few seconds by machines; their lines would bury the others. */
const PROBES = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * One line and one measurement per request: route template, status, duration; never URL, header or body. What is answered
 * to a public operation is also counted for the reports, by Site.
 */
export function logAccess(
  log: Logger,
  metrics: Metrics,
  countAnswer: CountAnswer,
): Koa.Middleware<RestState> {
  return async (ctx, next) => {
    const started = performance.now();
    await next();
    const milliseconds = performance.now() - started;
    const { operation: called, caller, errorCode } = ctx.state;
    const operation = called ?? ctx.state.route ?? 'other';
    if (called !== undefined && !called.startsWith('admin')) {
      const outcome = errorCode === undefined ? String(ctx.status) : `${ctx.status} ${errorCode}`;
      countAnswer(caller?.siteId, called, outcome);
      if (errorCode === 'API_QUOTA_EXCEEDED') metrics.refusals.inc({ reason: 'quota' });
    }
    metrics.requests.inc({ operation, status: ctx.status });
    metrics.requestSeconds.observe({ operation }, milliseconds / 1000);
    const level = PROBES.has(operation) ? 'debug' : ctx.status >= 500 ? 'warn' : 'info';
    if (log.isLevelEnabled(level)) log[level](lineOf(ctx, milliseconds), 'request');
  };
}

function lineOf(
  ctx: Koa.ParameterizedContext<RestState>,
  milliseconds: number,
): Record<string, unknown> {
  return {
    request_id: ctx.state['requestId'],
    method: ctx.method,
    route: ctx.state['route'] ?? 'other',
    status: ctx.status,
    ms: Math.round(milliseconds * 10) / 10,
    ...(ctx.state['errorCode'] === undefined ? {} : { error: ctx.state['errorCode'] }),
  };
}
