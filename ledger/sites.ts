import { run, type Db } from './database.ts';

/** Where a Site stands; derived, never stored. */
export type SiteState =
  'CREATED' | 'ACTIVE' | 'APPROVED_WITHOUT_CONTRACT' | 'GATE_FAILED' | 'SUSPENDED';

/** A gate's newest result; null before the first. */
export type GateResult = 'PASSED' | 'FAILED' | null;

/** A contract of a Site. Times in ms since 1970 UTC, the end exclusive. */
export interface ContractTerms {
  readonly contractId: bigint;
  readonly capacityLimit: number;
  readonly startsAt: number;
  readonly endsAt: number;
}

/** A Site as operators see it. Times in ms since 1970 UTC. */
export interface SiteView {
  readonly siteId: bigint;
  readonly code: string;
  readonly name: string;
  readonly customerType: 'SINGLE_COMPANY' | 'MULTI_MERCHANT';
  readonly approvedAt: number | null;
  readonly suspendedAt: number | null;
  readonly suspendedReason: string | null;
  readonly createdAt: number;
  /** Days that payloads are kept; null = as long as the service keeps them. */
  readonly payloadRetentionDays: number | null;
  readonly gates: { readonly QUALITY: GateResult; readonly SECURITY: GateResult };
  /** The contract in force at the moment asked for. */
  readonly contract: ContractTerms | null;
}

/**
 * The one place where a Site's state comes from: a suspension outweighs everything, then approval, then a gate whose
 * newest record is FAILED, then the contract. Production keys work in ACTIVE only (`ledger/credentials.ts`).
 */
export function siteState(
  site: Pick<SiteView, 'approvedAt' | 'suspendedAt' | 'gates' | 'contract'>,
): SiteState {
  if (site.suspendedAt !== null) return 'SUSPENDED';
  if (site.approvedAt === null) return 'CREATED';
  if (site.gates.QUALITY === 'FAILED' || site.gates.SECURITY === 'FAILED') return 'GATE_FAILED';
  return site.contract === null ? 'APPROVED_WITHOUT_CONTRACT' : 'ACTIVE';
}

interface SiteRow {
  id: string;
  code: string;
  name: string;
  customer_type: 'SINGLE_COMPANY' | 'MULTI_MERCHANT';
  approved_at: string | null;
  suspended_at: string | null;
  suspended_reason: string | null;
  created_at: string;
  payload_retention_days: number | null;
  quality: GateResult;
  security: GateResult;
  contract_id: string | null;
  capacity_limit: string;
  starts_at: string;
  ends_at: string;
}

const ms = (column: string): string => `(extract(epoch from ${column}) * 1000)::bigint`;

const newestResult = (gate: string): string =>
  `(select result from gate_record where site_id = site.id and gate = '${gate}' order by id desc limit 1)`;

/** `$1` is the moment at which a contract must be in force. */
const VIEW = `
  select site.id, site.code, site.name, site.customer_type, ${ms('site.approved_at')} as approved_at,
    ${ms('site.suspended_at')} as suspended_at, site.suspended_reason, ${ms('site.created_at')} as created_at,
    site.payload_retention_days,
    ${newestResult('QUALITY')} as quality, ${newestResult('SECURITY')} as security,
    contract.id as contract_id, contract.capacity_limit, ${ms('contract.starts_at')} as starts_at,
    ${ms('contract.ends_at')} as ends_at
  from site
  left join lateral (select * from contract where site_id = site.id and starts_at <= $1::timestamptz
    and ends_at > $1::timestamptz order by starts_at desc limit 1) contract on true`;

/** Reads one Site as it stands at `at` (ms); undefined where there is none of that code. */
export async function readSite(db: Db, code: string, at: number): Promise<SiteView | undefined> {
  const { rows } = await run<SiteRow>(db, `${VIEW} where site.code = $2`, [iso(at), code]);
  return rows[0] === undefined ? undefined : viewOf(rows[0]);
}

/** Reads a page of Sites in the order of their codes, after the code `after` ('' for the first page). */
export async function listSites(
  db: Db,
  page: { readonly after: string; readonly limit: number; readonly at: number },
): Promise<SiteView[]> {
  const { rows } = await run<SiteRow>(
    db,
    `${VIEW} where site.code > $2 order by site.code limit $3`,
    [iso(page.at), page.after, page.limit],
  );
  return rows.map(viewOf);
}

const iso = (at: number): string => new Date(at).toISOString();

const msOf = (text: string | null): number | null => (text === null ? null : Number(text));

const viewOf = (row: SiteRow): SiteView => ({
  siteId: BigInt(row.id),
  code: row.code,
  name: row.name,
  customerType: row.customer_type,
  approvedAt: msOf(row.approved_at),
  suspendedAt: msOf(row.suspended_at),
  suspendedReason: row.suspended_reason,
  createdAt: Number(row.created_at),
  payloadRetentionDays: row.payload_retention_days,
  gates: { QUALITY: row.quality, SECURITY: row.security },
  contract:
    row.contract_id === null
      ? null
      : {
          contractId: BigInt(row.contract_id),
          capacityLimit: Number(row.capacity_limit),
          startsAt: Number(row.starts_at),
          endsAt: Number(row.ends_at),
        },
});
