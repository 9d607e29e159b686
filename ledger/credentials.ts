import { run, type Db } from './database.ts';

/** A span of time in ms since 1970 UTC; `until` is exclusive. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/** Everything that decides what a key may do. Kept in memory, so it carries its own deadlines. */
export interface KnownCredential {
  readonly credentialId: bigint;
  readonly siteId: bigint;
  readonly environment: 'production' | 'sandbox';
  readonly customerType: 'SINGLE_COMPANY' | 'MULTI_MERCHANT';
  readonly defaultSubject: string;
  readonly permissions: ReadonlySet<string>;
  /** Earliest of the key's and the credential's expiry; Infinity where there is none. */
  readonly expiresAt: number;
  readonly revoked: boolean;
  readonly siteActive: boolean;
  readonly contracts: readonly Span[];
}

interface CredentialRow {
  key_hash: Buffer;
  credential_id: string;
  site_id: string;
  environment: 'production' | 'sandbox';
  customer_type: 'SINGLE_COMPANY' | 'MULTI_MERCHANT';
  default_subject: string;
  permissions: string[];
  expires_at: string | null;
  revoked: boolean;
  site_active: boolean;
  contracts: { from: number; until: number }[];
}

/** Reads the credentials behind key hashes (SHA-256), in one statement; unknown hashes are absent from the answer. */
export async function findCredentials(
  db: Db,
  keyHashes: readonly Buffer[],
): Promise<Map<string, KnownCredential>> {
  const { rows } = await run<CredentialRow>(
    db,
    `select key.key_hash, credential.id as credential_id, credential.site_id, credential.environment,
       site.customer_type, site.default_subject, to_json(credential.permissions) as permissions,
       (extract(epoch from least(key.expires_at, credential.expires_at)) * 1000)::bigint as expires_at,
       credential.revoked_at is not null as revoked,
       site.approved_at is not null and site.suspended_at is null
         and not exists (select 1 from (select distinct on (gate) result from gate_record
           where gate_record.site_id = site.id order by gate, id desc) newest where result = 'FAILED') as site_active,
       coalesce((select json_agg(json_build_object(
           'from', (extract(epoch from contract.starts_at) * 1000)::bigint,
           'until', (extract(epoch from contract.ends_at) * 1000)::bigint))
         from contract where contract.site_id = site.id), '[]'::json) as contracts
     from credential_key key
     join credential on credential.id = key.credential_id
     join site on site.id = credential.site_id
     where key.key_hash = any ($1::bytea[])`,
    [keyHashes],
  );
  return new Map(
    rows.map((row) => [
      row.key_hash.toString('hex'),
      {
        credentialId: BigInt(row.credential_id),
        siteId: BigInt(row.site_id),
        environment: row.environment,
        customerType: row.customer_type,
        defaultSubject: row.default_subject,
        permissions: new Set(row.permissions),
        expiresAt: row.expires_at === null ? Infinity : Number(row.expires_at),
        revoked: row.revoked,
        siteActive: row.site_active,
        contracts: row.contracts,
      },
    ]),
  );
}

/** The number that any change to sites, gates, contracts, credentials or keys raises. */
export async function readAuthVersion(db: Db): Promise<string> {
  const { rows } = await run<{ version: string }>(
    db,
    'select version::text as version from auth_version where id = 1',
  );
  return rows[0]?.version ?? '0';
}
