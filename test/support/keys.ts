import { generateApiKey } from '../../ledger/api-key.ts';
import { RATE_LIMIT } from '../../ledger/rate-window.ts';
import type { TestDatabase } from './database.ts';
import type { TestSite } from './site.ts';

/** Calls made with one key before the next is taken; a few below the limit, so that polling does not meet it. */
const CALLS = RATE_LIMIT - 10;

/**
 * API keys of one Site for tests that make more calls than one credential may: each is used for a little less than the
 * rate limit allows in a minute, then the next is issued.
 */
export function keysOf(
  site: TestSite,
  options: Parameters<TestSite['issue']>[0] = {},
): () => Promise<string> {
  let calls = 0;
  let current: Promise<string> | undefined;
  return () => {
    if (current === undefined || calls >= CALLS) {
      calls = 0;
      current = site.issue(options).then(({ apiKey }) => apiKey);
    }
    calls += 1;
    return current;
  };
}

/** Enough production keys of a Site for `calls` calls within a minute, made by two statements. */
export async function issueKeys(
  database: TestDatabase,
  site: TestSite,
  calls: number,
): Promise<string[]> {
  const keys = Array.from({ length: Math.ceil(calls / CALLS) }, () => generateApiKey('production'));
  const credentials = await database.query<{ id: string }>(
    `insert into credential (site_id, environment, label, permissions, created_at)
     select $1, 'production', 'test', array['ingest', 'read', 'label'], now()
     from generate_series(1, $2) returning id`,
    [site.siteId, keys.length],
  );
  await database.query(
    `insert into credential_key (key_hash, credential_id, key_id, created_at)
     select hash, id, key_id, now()
     from unnest($1::bytea[], $2::bigint[], $3::text[]) as made (hash, id, key_id)`,
    [keys.map(({ hash }) => hash), credentials.map(({ id }) => id), keys.map(({ keyId }) => keyId)],
  );
  return keys.map(({ apiKey }) => apiKey);
}
