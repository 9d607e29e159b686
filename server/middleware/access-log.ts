import type Koa from 'koa';
import type { Logger } from 'pino';
import type { Metrics } from '../metrics.ts';

/** Asked every few seconds by machines; their lines would bury the others. */
const PROBES = new Set(['/healthz', '/readyz', '/metrics']);

/** One line and one measurement per request: route template, status, duration; never URL, header or body. */
export function logAccess(log: Logger, metrics: Metrics): Koa.Middleware {
  return async (ctx, next) => {
    const started = performance.now();
    await next();
    const milliseconds = performance.now() - started;
    const operation = String(ctx.state['operation'] ?? ctx.state['route'] ?? 'other');
    metrics.requests.inc({ operation, status: ctx.status });
    metrics.requestSeconds.observe({ operation }, milliseconds / 1000);
    const level = PROBES.has(operation) ? 'debug' : ctx.status >= 500 ? 'warn' : 'info';
    if (log.isLevelEnabled(level)) log[level](lineOf(ctx, milliseconds), 'request');
  };
}

function lineOf(ctx: Koa.Context, milliseconds: number): Record<string, unknown> {
  return {
    request_id: ctx.state['requestId'],
    method: ctx.method,
    route: ctx.state['route'] ?? 'other',
    status: ctx.status,
    ms: Math.round(milliseconds * 10) / 10,
    ...(ctx.state['errorCode'] === undefined ? {} : { error: ctx.state['errorCode'] }),
  };
}
