import { run, type Db } from './database.ts';
import { raiseOperatorEvent } from './operator-events.ts';
import {
  bodyOf,
  insertDeliveries,
  insertEvents,
  type EnqueueDeliveries,
} from './webhook-events.ts';
import { newEventIds } from './webhook-ids.ts';

/** Names an endpoint. */
export interface EndpointRef {
  readonly siteId: bigint;
  readonly endpointId: bigint;
}

/** Why an endpoint is off: somebody decided, it answered 410, or it failed for days. */
export type DisabledReason = 'OPERATOR' | 'GONE' | 'FAILING';

const iso = (at: number): string => new Date(at).toISOString();

/**
 * Makes an endpoint PENDING and queues a new challenge for its URL as it is now, in the caller's transaction, which has
 * locked the row. Every earlier challenge is void from here on. Returns the challenge's event id (UUID).
 */
export async function startChallenge(
  db: Db,
  endpoint: EndpointRef,
  now: number,
  enqueue: EnqueueDeliveries,
): Promise<string> {
  const { siteId, endpointId } = endpoint;
  const [eventId = ''] = newEventIds(now, 1);
  const type = 'webhook.challenge';
  await run(
    db,
    `update webhook_endpoint set state = 'PENDING', challenge_event_id = $2::uuid, disabled_at = null,
       disabled_reason = null where id = $1`,
    [endpointId, eventId],
  );
  const body = bodyOf(eventId, type, { endpoint_id: String(endpointId) });
  await insertEvents(db, [{ siteId, eventId, type, ingestionId: null, body }]);
  await insertDeliveries(db, [{ siteId, endpointId, eventId, type, nextAttemptAt: now }]);
  await enqueue(db, [{ siteId, endpointId, eventId }]);
  return eventId;
}

/**
 * Activates an endpoint whose challenge was answered 2xx. Only the newest challenge of a PENDING endpoint can: the
 * answer to any other, such as one that went to a former URL, changes nothing. Returns whether it did.
 */
export async function activateByChallenge(
  db: Db,
  endpoint: EndpointRef,
  eventId: string,
  now: number,
): Promise<boolean> {
  const { affected } = await run(
    db,
    `update webhook_endpoint set state = 'ACTIVE', activated_at = $4::timestamptz, challenge_event_id = null
     where id = $1 and site_id = $2 and state = 'PENDING' and challenge_event_id = $3::uuid`,
    [endpoint.endpointId, endpoint.siteId, eventId, iso(now)],
  );
  if (affected === 0) return false;
  // Failures of the past say nothing about what answers now.
  await run(db, 'delete from webhook_endpoint_health where site_id = $1 and endpoint_id = $2', [
    endpoint.siteId,
    endpoint.endpointId,
  ]);
  await raiseOperatorEvent(db, {
    siteId: endpoint.siteId,
    kind: 'webhook_endpoint_activated',
    subject: `endpoint ${endpoint.endpointId}`,
    at: now,
  });
  return true;
}

/** Tells operators that an endpoint has not answered its newest challenge; of an older one there is nothing to say. */
export async function reportUnanswered(
  db: Db,
  { siteId, endpointId }: EndpointRef,
  eventId: string,
  now: number,
): Promise<void> {
  const { rows } = await run(
    db,
    `select 1 from webhook_endpoint
     where id = $1 and site_id = $2 and state = 'PENDING' and challenge_event_id = $3::uuid`,
    [endpointId, siteId, eventId],
  );
  if (rows.length === 0) return;
  const kind = 'webhook_challenge_failed';
  await raiseOperatorEvent(db, { siteId, kind, subject: `endpoint ${endpointId}`, at: now });
}

/** Which of the URLs an endpoint has had was answered for. */
export interface AnsweredUrl extends EndpointRef {
  readonly urlVersion: number;
}

/** The versions of the URLs that endpoints have now, by endpoint id. */
export async function readUrlVersions(
  db: Db,
  endpointIds: readonly bigint[],
): Promise<Map<bigint, number>> {
  const { rows } = await run<{ id: string; url_version: number }>(
    db,
    'select id, url_version from webhook_endpoint where id = any ($1::bigint[])',
    [endpointIds.map(String)],
  );
  return new Map(rows.map((row) => [BigInt(row.id), row.url_version]));
}

/**
 * Turns an endpoint off, because of how it answers. Operators hear of it; deliveries under way are failed as their
 * turn comes. Returns false for one that is off already, or whose URL has been changed since.
 */
export async function disableEndpoint(
  db: Db,
  endpoint: AnsweredUrl,
  reason: Exclude<DisabledReason, 'OPERATOR'>,
  now: number,
): Promise<boolean> {
  const { affected } = await run(
    db,
    `update webhook_endpoint set state = 'DISABLED', disabled_at = $3::timestamptz, disabled_reason = $4::text,
       challenge_event_id = null, changed_by = 'the service', changed_at = $3::timestamptz
     where id = $1 and site_id = $2 and state <> 'DISABLED' and url_version = $5`,
    [endpoint.endpointId, endpoint.siteId, iso(now), reason, endpoint.urlVersion],
  );
  if (affected === 0) return false;
  await raiseOperatorEvent(db, {
    siteId: endpoint.siteId,
    kind: 'webhook_endpoint_disabled',
    subject: `endpoint ${endpoint.endpointId}`,
    detail: { reason },
    at: now,
  });
  return true;
}
