import type Koa from 'koa';
import { Refusal } from '../../contract/errors.ts';
import { Admission, type RateDecision } from '../../ledger/rate-window.ts';
import type { RestState } from '../../openapi/adapter.ts';
import type { Metrics } from '../metrics.ts';
import { rateLimitHeaders, type RateLimiter } from '../rate-limiter.ts';

/**
 * Admits or refuses a caller's request; every answer after it carries the RateLimit headers.
 *
 * An operation that `admitsItself` is let through to where its transaction can admit it, unless the credential is known
 * to be exhausted; whatever comes back undecided is decided here, so that an invalid request counts like a valid one.
 */
export function limitRate(
  limiter: RateLimiter,
  metrics: Metrics,
  admitsItself: (operation: string | undefined) => boolean,
): Koa.Middleware<RestState> {
  const answer = (ctx: Koa.ParameterizedContext<RestState>, decision: RateDecision): void => {
    ctx.set(rateLimitHeaders(decision));
    if (decision.admitted) return;
    metrics.refusals.inc({ reason: 'rate' });
    throw new Refusal('RATE_LIMITED', { retryAfterSeconds: decision.resetSeconds });
  };
  return async (ctx, next): Promise<void> => {
    const { caller, operation } = ctx.state;
    if (caller === undefined) throw new Refusal('UNAUTHORIZED');
    const { credentialId } = caller;
    if (!admitsItself(operation)) {
      answer(ctx, await limiter.admit(credentialId));
      await next();
      return;
    }
    const refusal = limiter.refusalOf(credentialId);
    if (refusal !== undefined) {
      answer(ctx, refusal);
      return;
    }
    const admission = new Admission(credentialId);
    ctx.state.admission = admission;
    try {
      await next();
    } catch (error: unknown) {
      // What cannot be stored now is not counted either: it would only burden the database that is in trouble.
      const unavailable = error instanceof Refusal && error.code === 'INGESTION_UNAVAILABLE';
      if (!unavailable || admission.decision !== undefined) {
        answer(ctx, (admission.decision ??= await limiter.admit(credentialId)));
      }
      throw error;
    }
    answer(ctx, (admission.decision ??= await limiter.admit(credentialId)));
  };
}
