import { run, type Db } from './database.ts';
import { HASH_VERSION } from './submission.ts';

/** An Idempotency-Key of a label and the ingestion it is bound to. */
export interface OutcomeKey {
  readonly siteId: bigint;
  readonly keyHash: string;
  /** SHA-256 as hex. */
  readonly fingerprint: string;
  readonly ingestionId: bigint;
  /** ms since 1970 UTC. */
  readonly createdAt: number;
}

/**
 * Binds the key of a label, or finds what it is bound to. Needs an open transaction.
 *
 * @returns `same` when it was bound to an equal request, `other` when to another one
 */
export async function bindOutcomeKey(db: Db, key: OutcomeKey): Promise<'new' | 'same' | 'other'> {
  const { affected } = await run(
    db,
    `insert into idempotency_key (site_id, operation, key_hash, fingerprint, hash_version, ingestion_id, created_at)
     select $1::bigint, 'outcome', $2::uuid, decode($3::text, 'hex'), $4::smallint, $5::bigint, to_timestamp($6::bigint / 1000.0)
     on conflict (site_id, operation, key_hash) do nothing`,
    [key.siteId, key.keyHash, key.fingerprint, HASH_VERSION, key.ingestionId, key.createdAt],
  );
  if (affected === 1) return 'new';
  // A statement of its own: inside the inserting one the winner of a race cannot be seen.
  const { rows } = await run<{ fingerprint: Buffer }>(
    db,
    `select fingerprint from idempotency_key where site_id = $1 and operation = 'outcome' and key_hash = $2`,
    [key.siteId, key.keyHash],
  );
  return rows[0]?.fingerprint.toString('hex') === key.fingerprint ? 'same' : 'other';
}
