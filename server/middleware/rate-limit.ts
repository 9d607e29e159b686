import type Koa from 'koa';
import { Refusal } from '../../contract/errors.ts';
import type { RestState } from '../../openapi/adapter.ts';
import type { Metrics } from '../metrics.ts';
import { rateLimitHeaders, type RateLimiter } from '../rate-limiter.ts';

/** Admits or refuses a caller's request; every answer after it carries the RateLimit headers. */
export function limitRate(limiter: RateLimiter, metrics: Metrics): Koa.Middleware<RestState> {
  return async (ctx, next) => {
    const { caller } = ctx.state;
    if (caller === undefined) throw new Refusal('UNAUTHORIZED');
    const decision = await limiter.admit(caller.credentialId);
    ctx.set(rateLimitHeaders(decision));
    if (!decision.admitted) {
      metrics.refusals.inc({ reason: 'rate' });
      throw new Refusal('RATE_LIMITED', { retryAfterSeconds: decision.resetSeconds });
    }
    return next();
  };
}
