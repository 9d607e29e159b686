import { run, type Db } from './database.ts';

/** Who a stored token belongs to. */
export interface StoredOperator {
  readonly name: string;
  readonly role: 'viewer' | 'operator' | 'administrator';
}

/**
 * The operator whose token has this SHA-256, unless the token is revoked or has expired at `now` (ms). Asked for every
 * call instead of remembered, so that a revocation counts at once in every process.
 */
export async function findOperator(
  db: Db,
  tokenHash: Buffer,
  now: number,
): Promise<StoredOperator | undefined> {
  const { rows } = await run<StoredOperator>(
    db,
    `select name, role from operator
     where token_hash = $1 and revoked_at is null and expires_at > $2::timestamptz`,
    [tokenHash, new Date(now).toISOString()],
  );
  return rows[0];
}
