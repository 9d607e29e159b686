import type Koa from 'koa';
import { Refusal } from '../../contract/errors.ts';
import type { RestState } from '../../openapi/adapter.ts';
import type { AddressLimiter } from '../address-limiter.ts';
import type { CredentialCache } from '../credential-cache.ts';
import type { Metrics } from '../metrics.ts';

/** What authentication works with. */
export interface ApiKeyOptions {
  readonly credentials: CredentialCache;
  readonly failures: AddressLimiter;
  readonly addressOf: (ctx: Koa.ParameterizedContext<RestState>) => string;
  readonly metrics: Metrics;
}

/**
 * Turns x-api-key into a caller or refuses: 401, or 429 once an address failed too often. A key that is known already
 * passes from any address, so a flood of wrong keys does not lock out its neighbours.
 */
export function authenticate(options: ApiKeyOptions): Koa.Middleware<RestState> {
  const { credentials, failures, addressOf, metrics } = options;
  return async (ctx, next) => {
    const address = addressOf(ctx);
    const credential = await credentials.find(
      ctx.get('x-api-key'),
      () => failures.blockedFor(address) === 0,
    );
    if (credential === undefined) {
      const blockedFor = failures.blockedFor(address);
      if (blockedFor > 0) {
        metrics.refusals.inc({ reason: 'address' });
        throw new Refusal('RATE_LIMITED', { retryAfterSeconds: blockedFor });
      }
      failures.record(address);
      metrics.refusals.inc({ reason: 'unauthorized' });
      throw new Refusal('UNAUTHORIZED');
    }
    ctx.state.caller = credential;
    return next();
  };
}
