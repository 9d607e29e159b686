import { run, type Db } from './database.ts';
import type { EndpointRef } from './webhook-endpoints.ts';
import type { DeliveryRef } from './webhook-ids.ts';

/**
 * Deliveries that are PENDING without a time are held: no job stands for them. That keeps the queue short when an
 * endpoint is down, slow or waiting to be verified, so that nobody else's deliveries queue behind them.
 */

/** Days back that held and waiting deliveries are looked for; longer than WEBHOOK_RETENTION_DAYS can let them live. */
const DAYS_BACK = 400;

const iso = (at: number): string => new Date(at).toISOString();
const since = (now: number): string => iso(now - DAYS_BACK * 86_400_000);

/**
 * Takes up to `limit` held deliveries of an endpoint, about oldest first, and makes them due at `now` (ms); the caller
 * queues their jobs in the same transaction. Those another process takes at this moment are left to it.
 */
export async function releaseHeld(
  db: Db,
  { siteId, endpointId }: EndpointRef,
  limit: number,
  now: number,
): Promise<DeliveryRef[]> {
  const { rows } = await run<{ event_id: string }>(
    db,
    `update webhook_delivery delivery set next_attempt_at = $4::timestamptz
     where delivery.site_id = $1 and delivery.endpoint_id = $2 and delivery.created_at > $5::timestamptz
       and (delivery.event_id, delivery.created_at) in (
         select held.event_id, held.created_at from webhook_delivery held
         where held.site_id = $1 and held.endpoint_id = $2 and held.created_at > $5::timestamptz
           and held.state = 'PENDING' and held.next_attempt_at is null
         limit $3 for update skip locked)
     returning delivery.event_id`,
    [siteId, endpointId, limit, iso(now), since(now)],
  );
  return rows.map((row) => ({ siteId, endpointId, eventId: row.event_id }));
}

/** Fails up to `limit` held deliveries of an endpoint that is off. Returns how many. */
export async function failHeld(
  db: Db,
  { siteId, endpointId }: EndpointRef,
  limit: number,
  now: number,
): Promise<number> {
  const { affected } = await run(
    db,
    `update webhook_delivery delivery set state = 'FAILED', failure = 'ENDPOINT_DISABLED',
       settled_at = $4::timestamptz
     where delivery.site_id = $1 and delivery.endpoint_id = $2 and delivery.created_at > $5::timestamptz
       and (delivery.event_id, delivery.created_at) in (
         select held.event_id, held.created_at from webhook_delivery held
         where held.site_id = $1 and held.endpoint_id = $2 and held.created_at > $5::timestamptz
           and held.state = 'PENDING' and held.next_attempt_at is null
         limit $3 for update skip locked)`,
    [siteId, endpointId, limit, iso(now), since(now)],
  );
  return affected;
}

/** How many deliveries of an endpoint are due and not made, counted up to `limit`. */
export async function countDue(
  db: Db,
  { siteId, endpointId }: EndpointRef,
  limit: number,
  now: number,
): Promise<number> {
  const { rows } = await run<{ due: number }>(
    db,
    `select count(*)::int as due from (
       select 1 from webhook_delivery where site_id = $1 and endpoint_id = $2 and created_at > $4::timestamptz
         and state = 'PENDING' and next_attempt_at <= $3::timestamptz limit $5) as waiting`,
    [siteId, endpointId, iso(now), since(now), limit],
  );
  return rows[0]?.due ?? 0;
}

/** Finds endpoints with held deliveries that nobody is going to look at. Reads one index entry per endpoint and day. */
export async function findForgottenHeld(db: Db, now: number): Promise<EndpointRef[]> {
  const { rows } = await run<{ site_id: string; id: string }>(
    db,
    `select endpoint.site_id, endpoint.id from webhook_endpoint endpoint
     left join webhook_endpoint_health health on health.site_id = endpoint.site_id
       and health.endpoint_id = endpoint.id
     where endpoint.state <> 'PENDING' and health.probe_at is null and exists (
       select 1 from webhook_delivery held where held.site_id = endpoint.site_id and held.endpoint_id = endpoint.id
         and held.created_at > $1::timestamptz and held.state = 'PENDING' and held.next_attempt_at is null)`,
    [since(now)],
  );
  return rows.map((row) => ({ siteId: BigInt(row.site_id), endpointId: BigInt(row.id) }));
}

/**
 * Finds deliveries that are overdue since before `before` (ms) and have no job that will run: somebody deleted it, or the
 * queue's table was restored from an older copy. Looks at the thousand most overdue of each endpoint: what has a job is done in
 * the order of time, so what has none gathers in front.
 */
export async function findLostDeliveries(
  db: Db,
  jobIdOf: (delivery: DeliveryRef) => string,
  before: number,
  now: number,
): Promise<DeliveryRef[]> {
  const { rows } = await run<{ site_id: string; endpoint_id: string; event_id: string }>(
    db,
    `select late.site_id, late.endpoint_id, late.event_id from webhook_endpoint endpoint
     cross join lateral (
       select site_id, endpoint_id, event_id from webhook_delivery
       where site_id = endpoint.site_id and endpoint_id = endpoint.id and created_at > $2::timestamptz
         and state = 'PENDING' and next_attempt_at < $1::timestamptz
       order by next_attempt_at limit 1000) as late
     limit 10000`,
    [iso(before), since(now)],
  );
  const overdue = rows.map((row) => ({
    siteId: BigInt(row.site_id),
    endpointId: BigInt(row.endpoint_id),
    eventId: row.event_id,
  }));
  if (overdue.length === 0) return [];
  const { rows: alive } = await run<{ id: string }>(
    db,
    `select id from pgboss.job where name = 'webhook' and id = any ($1::uuid[])
       and state in ('created', 'retry', 'active')`,
    [overdue.map(jobIdOf)],
  );
  const running = new Set(alive.map(({ id }) => id));
  return overdue.filter((delivery) => !running.has(jobIdOf(delivery)));
}
