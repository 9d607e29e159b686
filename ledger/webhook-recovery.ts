import { run, type Db } from './database.ts';
import type { EndpointRef } from './webhook-endpoints.ts';
import { createdAtOf, type DeliveryRef } from './webhook-ids.ts';

/** An event that an endpoint should have got, with what became of its delivery. */
export interface UndeliveredEvent {
  readonly eventId: string;
  readonly type: string;
  /** No delivery was ever made (the endpoint was off), or one that failed or waits for its next attempt. */
  readonly delivery: 'none' | 'unsuccessful';
}

/** One page of events looked at. */
export interface UndeliveredPage {
  readonly events: readonly UndeliveredEvent[];
  /** Events looked at, delivered ones included. */
  readonly looked: number;
  /** The last event looked at, where the next page goes on; undefined when there are no more. */
  readonly cursor: string | undefined;
}

/**
 * Looks through a Site's events of the given types since `since` (ms), oldest first, for those an endpoint has not
 * got: failed for good, waiting after a failed attempt, or never sent to it. One that waits for its first attempt is
 * on its way and left alone.
 */
export async function findUndelivered(
  db: Db,
  { siteId, endpointId }: EndpointRef,
  page: {
    readonly types: readonly string[];
    readonly since: number;
    readonly after: string | undefined;
    readonly limit: number;
  },
): Promise<UndeliveredPage> {
  const from = page.after === undefined ? page.since : createdAtOf(page.after);
  const { rows } = await run<{ id: string; type: string; state: string | null; step: number }>(
    db,
    `select event.id, event.type, delivery.state, delivery.step
     from webhook_event event
     left join webhook_delivery delivery on delivery.site_id = event.site_id and delivery.endpoint_id = $2::bigint
       and delivery.event_id = event.id and delivery.created_at = event.created_at
     where event.site_id = $1::bigint and event.created_at >= $3::timestamptz
       and ($4::uuid is null or event.id > $4::uuid) and event.type = any ($5::text[])
     order by event.id limit $6`,
    [
      siteId,
      endpointId,
      new Date(from).toISOString(),
      page.after ?? null,
      [...page.types],
      page.limit,
    ],
  );
  const events = rows.flatMap(({ id, type, state, step }): UndeliveredEvent[] => {
    if (state === null) return [{ eventId: id, type, delivery: 'none' }];
    const unsuccessful = state === 'FAILED' || (state === 'PENDING' && step > 0);
    return unsuccessful ? [{ eventId: id, type, delivery: 'unsuccessful' }] : [];
  });
  return {
    events,
    looked: rows.length,
    cursor: rows.length < page.limit ? undefined : rows.at(-1)?.id,
  };
}

interface RefRow {
  site_id: string;
  endpoint_id: string;
  event_id: string;
}

const refOf = (row: RefRow): DeliveryRef => ({
  siteId: BigInt(row.site_id),
  endpointId: BigInt(row.endpoint_id),
  eventId: row.event_id,
});

/** Finds deliveries that were held while their endpoint was being verified, now that it is active. */
export async function findHeld(db: Db, limit: number): Promise<DeliveryRef[]> {
  const { rows } = await run<RefRow>(
    db,
    `select delivery.site_id, delivery.endpoint_id, delivery.event_id
     from webhook_endpoint endpoint
     join webhook_delivery delivery on delivery.site_id = endpoint.site_id and delivery.endpoint_id = endpoint.id
     where endpoint.state = 'ACTIVE' and delivery.state = 'PENDING' and delivery.next_attempt_at is null
     limit $1`,
    [limit],
  );
  return rows.map(refOf);
}

/** A place in the order in which {@link findLostDeliveries} looks. */
export interface LostPosition {
  readonly siteId: bigint;
  readonly endpointId: bigint;
  readonly nextAttemptAt: number;
}

/** As SQL: the id that `deliveryJobId` computes. */
const JOB_ID_SQL = `(left(replace(overdue.event_id::text, '-', ''), 12)
  || left(encode(sha256(convert_to(overdue.endpoint_id::text || '/' || overdue.event_id::text, 'UTF8')), 'hex'), 20))::uuid`;

/**
 * Looks at up to `limit` deliveries that were due before `before` (ms), for those that no job will ever make: its row
 * is gone, or has ended without the delivery. Goes through them in turns, because a failing endpoint may have many
 * that are late and none that is lost.
 *
 * @returns the lost ones, and where to go on; undefined when the end was reached
 */
export async function findLostDeliveries(
  db: Db,
  before: number,
  after: LostPosition | undefined,
  limit: number,
): Promise<{ readonly lost: readonly DeliveryRef[]; readonly position: LostPosition | undefined }> {
  const { rows } = await run<RefRow & { next_attempt_at: string; lost: boolean }>(
    db,
    `with overdue as materialized (
       select site_id, endpoint_id, event_id, next_attempt_at from webhook_delivery
       where state = 'PENDING' and next_attempt_at < $1::timestamptz
         and ($2::bigint is null or (site_id, endpoint_id, next_attempt_at) > ($2::bigint, $3::bigint, $4::timestamptz))
       order by site_id, endpoint_id, next_attempt_at limit $5
     )
     select overdue.site_id, overdue.endpoint_id, overdue.event_id,
       (extract(epoch from overdue.next_attempt_at) * 1000)::bigint as next_attempt_at,
       job.id is null or job.state > 'active' as lost
     from overdue left join pgboss.job on job.name = 'webhook' and job.id = ${JOB_ID_SQL}
     order by overdue.site_id, overdue.endpoint_id, overdue.next_attempt_at`,
    [
      new Date(before).toISOString(),
      after?.siteId ?? null,
      after?.endpointId ?? null,
      after === undefined ? null : new Date(after.nextAttemptAt).toISOString(),
      limit,
    ],
  );
  const last = rows.length < limit ? undefined : rows.at(-1);
  return {
    lost: rows.filter(({ lost }) => lost).map(refOf),
    position:
      last === undefined
        ? undefined
        : {
            siteId: BigInt(last.site_id),
            endpointId: BigInt(last.endpoint_id),
            nextAttemptAt: Number(last.next_attempt_at),
          },
  };
}

/** Marks deliveries as due at `at` (ms), where they still wait. Returns those that did. */
export async function makeDue(
  db: Db,
  refs: readonly DeliveryRef[],
  at: number,
): Promise<DeliveryRef[]> {
  if (refs.length === 0) return [];
  const { rows } = await run<RefRow>(
    db,
    `update webhook_delivery as delivery set next_attempt_at = $5::timestamptz
     from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::timestamptz[])
       as due (site_id, endpoint_id, event_id, created_at)
     where delivery.site_id = due.site_id and delivery.endpoint_id = due.endpoint_id
       and delivery.event_id = due.event_id and delivery.created_at = due.created_at and delivery.state = 'PENDING'
     returning delivery.site_id, delivery.endpoint_id, delivery.event_id`,
    [
      refs.map(({ siteId }) => String(siteId)),
      refs.map(({ endpointId }) => String(endpointId)),
      refs.map(({ eventId }) => eventId),
      refs.map(({ eventId }) => new Date(createdAtOf(eventId)).toISOString()),
      new Date(at).toISOString(),
    ],
  );
  return rows.map(refOf);
}
