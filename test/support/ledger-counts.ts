import type { RunningService } from './running-service.ts';
import type { TestSite } from './site.ts';

/** Rows that a Site has in its ledger. */
export async function ledgerRows(service: RunningService, site: TestSite): Promise<number> {
  const [row] = await service.database.query<{ rows: string }>(
    'select count(*) as rows from ingestion where site_id = $1',
    [site.siteId],
  );
  return Number(row?.rows);
}
