import type { Client } from 'pg';
import { generateApiKey } from '../ledger/api-key.ts';
import type { LoadCredential } from './load/protocol.ts';

/** How many to make. `credentials` is a multiple of `sites`, so that event number n always belongs to Site n mod sites. */
export interface SeedOptions {
  readonly sites: number;
  readonly credentials: number;
}

/** Makes approved Sites with contracts and production credentials straight in the database; credential n belongs to Site n mod sites. */
export async function seedSites(owner: Client, options: SeedOptions): Promise<LoadCredential[]> {
  const { rows: sites } = await owner.query<{ id: string }>(
    `insert into site (code, name, customer_type, default_subject, approved_at, created_at)
     select 'bench-' || n, 'Bench ' || n, case n % 2 when 0 then 'SINGLE_COMPANY' else 'MULTI_MERCHANT' end,
       'subject-' || n, now(), now()
     from generate_series(1, $1::int) as n returning id`,
    [options.sites],
  );
  await owner.query(
    `insert into contract (site_id, capacity_limit, starts_at, ends_at, created_at)
     select id, 1000000000, '2000-01-01', '2100-01-01', now() from site`,
  );
  const siteIds = Array.from(
    { length: options.credentials },
    (_, n) => sites[n % sites.length]?.id ?? '',
  );
  const { rows: credentials } = await owner.query<{ id: string; site_id: string }>(
    `insert into credential (site_id, environment, label, permissions, created_at)
     select site_id, 'production', 'bench', '{ingest,read,label}', now()
     from unnest($1::bigint[]) with ordinality as wanted (site_id, n) order by n
     returning id, site_id`,
    [siteIds],
  );
  const keys = credentials.map(() => generateApiKey('production'));
  await owner.query(
    `insert into credential_key (key_hash, credential_id, key_id, created_at)
     select key_hash, credential_id, key_id, now()
     from unnest($1::bytea[], $2::bigint[], $3::text[]) as key (key_hash, credential_id, key_id)`,
    [keys.map(({ hash }) => hash), credentials.map(({ id }) => id), keys.map(({ keyId }) => keyId)],
  );
  const bySite = new Map<string, LoadCredential[]>();
  for (const [n, { id, site_id }] of credentials.entries()) {
    const known = bySite.get(site_id) ?? [];
    known.push({ apiKey: keys[n]?.apiKey ?? '', siteId: site_id, credentialId: id });
    bySite.set(site_id, known);
  }
  return siteIds.map((siteId) => bySite.get(siteId)?.pop() as LoadCredential);
}
