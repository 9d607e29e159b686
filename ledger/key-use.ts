import { run, type Db } from './database.ts';

/** Keeps when API keys were last accepted: SHA-256 of the key -> ms since 1970 UTC. A later time known already stays. */
export async function recordKeyUse(
  db: Db,
  uses: readonly { readonly keyHash: Buffer; readonly usedAt: number }[],
): Promise<void> {
  if (uses.length === 0) return;
  const ordered = [...uses].sort((a, b) => Buffer.compare(a.keyHash, b.keyHash));
  await run(
    db,
    `insert into credential_key_use as known (key_hash, last_used_at)
     select key_hash, last_used_at from unnest($1::bytea[], $2::timestamptz[]) as seen (key_hash, last_used_at)
     order by key_hash
     on conflict (key_hash) do update set last_used_at = excluded.last_used_at
       where known.last_used_at < excluded.last_used_at`,
    [
      ordered.map(({ keyHash }) => keyHash),
      ordered.map(({ usedAt }) => new Date(usedAt).toISOString()),
    ],
  );
}

/** When the keys of credentials were last accepted, ms since 1970 UTC, by SHA-256 in hex; never used ones are absent. */
export async function readKeyUse(
  db: Db,
  credentialIds: readonly bigint[],
): Promise<Map<string, number>> {
  const { rows } = await run<{ key_hash: Buffer; last_used_at: string }>(
    db,
    `select used.key_hash, (extract(epoch from used.last_used_at) * 1000)::bigint as last_used_at
     from credential_key key join credential_key_use used on used.key_hash = key.key_hash
     where key.credential_id = any ($1::bigint[])`,
    [credentialIds.map(String)],
  );
  return new Map(rows.map((row) => [row.key_hash.toString('hex'), Number(row.last_used_at)]));
}
