import { run, type Db } from './database.ts';

/** One credential's month so far. */
export interface Usage {
  readonly limit: number;
  readonly accepted: number;
}

/** Reads the usage of a credential in a UTC month (`YYYY-MM`), beside the capacity of the contract in force at `at` (ms). */
export async function readUsage(
  db: Db,
  key: { readonly siteId: bigint; readonly credentialId: bigint; readonly month: string },
  at: number,
): Promise<Usage> {
  const { rows } = await run<{ accepted: string; capacity_limit: string }>(
    db,
    `select
       coalesce((select accepted from usage_counter where site_id = $1 and credential_id = $2 and month = $3), 0) as accepted,
       coalesce((select capacity_limit from contract where site_id = $1 and starts_at <= $4::timestamptz
         and ends_at > $4::timestamptz), 0) as capacity_limit`,
    [key.siteId, key.credentialId, key.month, new Date(at).toISOString()],
  );
  return {
    accepted: Number(rows[0]?.accepted ?? 0),
    limit: Number(rows[0]?.capacity_limit ?? 0),
  };
}
