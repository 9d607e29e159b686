import { generateApiKey } from '../../ledger/api-key.ts';
import type { TestDatabase } from './database.ts';

/** A Site as a test wants it; the defaults are an active one. */
export interface SiteOptions {
  readonly code?: string;
  readonly customerType?: 'SINGLE_COMPANY' | 'MULTI_MERCHANT';
  readonly capacity?: number;
  readonly approved?: boolean;
  readonly withContract?: boolean;
}

/** A Site with a contract, and a way to make credentials for it. */
export interface TestSite {
  readonly siteId: string;
  readonly code: string;
  issue(options?: {
    environment?: 'production' | 'sandbox';
    permissions?: readonly string[];
  }): Promise<{ credentialId: string; apiKey: string }>;
}

let count = 0;

/** Makes a Site straight in the database: what procedures refuse or do slowly is not what these tests are about. */
export async function createSite(
  database: TestDatabase,
  options: SiteOptions = {},
): Promise<TestSite> {
  count += 1;
  const code = options.code ?? `site-${count}`;
  const [site] = await database.query<{ id: string }>(
    `insert into site (code, name, customer_type, default_subject, approved_at, created_at)
     values ($1, $1, $2, 'subject-of-' || $1, $3, now()) returning id`,
    [
      code,
      options.customerType ?? 'SINGLE_COMPANY',
      options.approved === false ? null : new Date(),
    ],
  );
  const siteId = site?.id ?? '';
  if (options.withContract !== false) {
    await database.query(
      `insert into contract (site_id, capacity_limit, starts_at, ends_at, created_at)
       values ($1, $2, '2000-01-01', '2100-01-01', now())`,
      [siteId, options.capacity ?? 1_000_000],
    );
  }
  return {
    siteId,
    code,
    async issue({ environment = 'production', permissions = ['ingest', 'read', 'label'] } = {}) {
      const key = generateApiKey(environment);
      const [credential] = await database.query<{ id: string }>(
        `insert into credential (site_id, environment, label, permissions, created_at)
         values ($1, $2, 'test', $3, now()) returning id`,
        [siteId, environment, permissions],
      );
      const credentialId = credential?.id ?? '';
      await database.query(
        'insert into credential_key (key_hash, credential_id, key_id, created_at) values ($1, $2, $3, now())',
        [key.hash, credentialId, key.keyId],
      );
      return { credentialId, apiKey: key.apiKey };
    },
  };
}
