import { run, type Db } from './database.ts';
import type { EndpointRef } from './webhook-endpoints.ts';
import { createdAtOf } from './webhook-ids.ts';

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
