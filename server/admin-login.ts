import { createHash } from 'node:crypto';
import { AddressLimiter } from './address-limiter.ts';
import type { OperatorIdentity, OperatorOf } from './admin-token.ts';

/** How a login ended: an operator, a token of nobody, or too many failures of its address before. */
export type LoginOutcome =
  | { readonly kind: 'operator'; readonly operator: OperatorIdentity }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'blocked'; readonly seconds: number };

/**
 * Decides who an Authorization header belongs to. @throws what the database throws: a token that cannot be checked is
 * not a wrong one
 */
export type AdminLogin = (authorization: string, address: string) => Promise<LoginOutcome>;

/** Tokens remembered as good at most; past it the memory starts anew, which only costs a blocked address its pass. */
const REMEMBERED = 1_000;

/**
 * Builds the login of the admin side: one for all its paths, so that failures are counted together. Once an address
 * failed too often its further tokens are not even looked at, unless they were good here before: a neighbour's wrong
 * script must not lock an operator out.
 *
 * @param onFailure is told of each failure, of a blocked address too
 */
export function createAdminLogin(
  operatorOf: OperatorOf,
  onFailure: (address: string) => void = () => undefined,
): AdminLogin {
  const failures = new AddressLimiter();
  const good = new Set<string>();
  return async (authorization, address) => {
    const token = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
    const name = createHash('sha256')
      .update(token ?? '')
      .digest('base64');
    const seconds = failures.blockedFor(address);
    if (seconds > 0 && !good.has(name)) {
      onFailure(address);
      return { kind: 'blocked', seconds };
    }
    const operator = token === undefined ? undefined : await operatorOf(token);
    if (operator !== undefined) {
      if (good.size >= REMEMBERED) good.clear();
      good.add(name);
      return { kind: 'operator', operator };
    }
    good.delete(name);
    failures.record(address);
    onFailure(address);
    return { kind: 'unknown' };
  };
}
