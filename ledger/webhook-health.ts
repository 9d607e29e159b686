import { run, type Db } from './database.ts';
import { compare } from './ordering.ts';
import type { EndpointRef } from './webhook-endpoints.ts';

/** How an endpoint has answered lately, one state for all processes. Times in ms since 1970 UTC. */
export interface EndpointHealth {
  readonly failuresInRow: number;
  /** First failure since the last success. */
  readonly failingSince: number | undefined;
  /** CLOSED: delivered to. OPEN: spared until `probeAt`. HALF_OPEN: one delivery at a time finds out. */
  readonly breaker: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
  /** When the endpoint's held deliveries are looked at next; undefined when none is known. Always set while OPEN. */
  readonly probeAt: number | undefined;
  readonly lastSuccessAt: number | undefined;
  readonly lastFailureAt: number | undefined;
}

/** An endpoint's health with its name. */
export interface EndpointHealthRow extends EndpointRef, EndpointHealth {}

/** An endpoint whose held deliveries are to be looked at. */
export interface DueEndpoint extends EndpointHealthRow {
  readonly state: 'PENDING' | 'ACTIVE' | 'DISABLED';
}

interface Row {
  readonly site_id: string;
  readonly endpoint_id: string;
  readonly failures_in_row: number;
  readonly failing_since: string | null;
  readonly breaker: EndpointHealth['breaker'];
  readonly probe_at: string | null;
  readonly last_success_at: string | null;
  readonly last_failure_at: string | null;
}

const ms = (column: string): string =>
  `(extract(epoch from health.${column}) * 1000)::bigint as ${column}`;

const COLUMNS = `health.site_id, health.endpoint_id, health.failures_in_row, health.breaker, ${[
  'failing_since',
  'probe_at',
  'last_success_at',
  'last_failure_at',
]
  .map(ms)
  .join(', ')}`;

const time = (text: string | null): number | undefined =>
  text === null ? undefined : Number(text);
const iso = (at: number | undefined): string | null =>
  at === undefined ? null : new Date(at).toISOString();

const healthOf = (row: Row): EndpointHealthRow => ({
  siteId: BigInt(row.site_id),
  endpointId: BigInt(row.endpoint_id),
  failuresInRow: row.failures_in_row,
  failingSince: time(row.failing_since),
  breaker: row.breaker,
  probeAt: time(row.probe_at),
  lastSuccessAt: time(row.last_success_at),
  lastFailureAt: time(row.last_failure_at),
});

/**
 * Reads and locks the health of endpoints, in the order of their keys. One that has none yet gets a row first: what does
 * not exist cannot be locked, and whoever notes something about it meanwhile would be overwritten.
 */
export async function lockHealth(
  db: Db,
  endpoints: readonly EndpointRef[],
): Promise<Map<bigint, EndpointHealth>> {
  await run(
    db,
    `insert into webhook_endpoint_health (site_id, endpoint_id, failures_in_row, breaker)
     select site_id, endpoint_id, 0, 'CLOSED'
     from unnest($1::bigint[], $2::bigint[]) as wanted (site_id, endpoint_id)
     order by site_id, endpoint_id
     on conflict (site_id, endpoint_id) do nothing`,
    [
      endpoints.map(({ siteId }) => String(siteId)),
      endpoints.map((each) => String(each.endpointId)),
    ],
  );
  const { rows } = await run<Row>(
    db,
    `select ${COLUMNS} from webhook_endpoint_health health
     where (health.site_id, health.endpoint_id) in (
       select site_id, endpoint_id from unnest($1::bigint[], $2::bigint[]) as wanted (site_id, endpoint_id))
     order by health.site_id, health.endpoint_id for update`,
    [
      endpoints.map(({ siteId }) => String(siteId)),
      endpoints.map((each) => String(each.endpointId)),
    ],
  );
  return new Map(rows.map((row) => [BigInt(row.endpoint_id), healthOf(row)]));
}

/** Writes health as it is given. */
export async function writeHealth(db: Db, rows: readonly EndpointHealthRow[]): Promise<void> {
  if (rows.length === 0) return;
  const ordered = [...rows].sort(
    (a, b) => compare(a.siteId, b.siteId) || compare(a.endpointId, b.endpointId),
  );
  await run(
    db,
    `insert into webhook_endpoint_health (site_id, endpoint_id, failures_in_row, failing_since, breaker, probe_at,
       last_success_at, last_failure_at)
     select site_id, endpoint_id, failures_in_row, failing_since, breaker, probe_at, last_success_at, last_failure_at
     from unnest($1::bigint[], $2::bigint[], $3::int[], $4::timestamptz[], $5::text[], $6::timestamptz[],
       $7::timestamptz[], $8::timestamptz[]) as health (site_id, endpoint_id, failures_in_row, failing_since, breaker,
       probe_at, last_success_at, last_failure_at)
     on conflict (site_id, endpoint_id) do update set failures_in_row = excluded.failures_in_row,
       failing_since = excluded.failing_since, breaker = excluded.breaker, probe_at = excluded.probe_at,
       last_success_at = excluded.last_success_at, last_failure_at = excluded.last_failure_at`,
    [
      ordered.map(({ siteId }) => String(siteId)),
      ordered.map(({ endpointId }) => String(endpointId)),
      ordered.map(({ failuresInRow }) => failuresInRow),
      ordered.map(({ failingSince }) => iso(failingSince)),
      ordered.map(({ breaker }) => breaker),
      ordered.map(({ probeAt }) => iso(probeAt)),
      ordered.map(({ lastSuccessAt }) => iso(lastSuccessAt)),
      ordered.map(({ lastFailureAt }) => iso(lastFailureAt)),
    ],
  );
}

/** Has the held deliveries of endpoints looked at by `at` (ms), unless that is due earlier anyway. */
export async function lookAtHeld(
  db: Db,
  endpoints: readonly EndpointRef[],
  at: number,
): Promise<void> {
  if (endpoints.length === 0) return;
  const ordered = [...endpoints].sort(
    (a, b) => compare(a.siteId, b.siteId) || compare(a.endpointId, b.endpointId),
  );
  await run(
    db,
    `insert into webhook_endpoint_health as health (site_id, endpoint_id, failures_in_row, breaker, probe_at)
     select site_id, endpoint_id, 0, 'CLOSED', $3::timestamptz
     from unnest($1::bigint[], $2::bigint[]) as endpoint (site_id, endpoint_id)
     on conflict (site_id, endpoint_id) do update set probe_at = excluded.probe_at where health.probe_at is null`,
    [
      ordered.map(({ siteId }) => String(siteId)),
      ordered.map(({ endpointId }) => String(endpointId)),
      iso(at),
    ],
  );
}

/** Locks the endpoints whose held deliveries are due to be looked at; those another process has in hand are left to it. */
export async function lockDueEndpoints(db: Db, now: number, limit: number): Promise<DueEndpoint[]> {
  const { rows } = await run<Row & { readonly state: DueEndpoint['state'] }>(
    db,
    `select ${COLUMNS}, endpoint.state from webhook_endpoint_health health
     join webhook_endpoint endpoint on endpoint.id = health.endpoint_id and endpoint.site_id = health.site_id
     where health.probe_at <= $1::timestamptz
     order by health.probe_at limit $2 for update of health skip locked`,
    [iso(now), limit],
  );
  return rows.map((row) => ({ ...healthOf(row), state: row.state }));
}

/** How many endpoints are spared at this moment. */
export async function countSpared(db: Db): Promise<number> {
  const { rows } = await run<{ spared: number }>(
    db,
    `select count(*)::int as spared from webhook_endpoint_health where breaker <> 'CLOSED'`,
  );
  return rows[0]?.spared ?? 0;
}
