import {
  webhookEventIdOf,
  type SubscribedEventType,
  type WebhookData,
  type WebhookEventType,
} from '../contract/webhook.ts';
import { run, type Db } from './database.ts';
import { joinTexts, RECORD_SEPARATOR } from './joined-texts.ts';
import { together } from './transactions.ts';
import { createdAtOf, newEventIds, type DeliveryRef } from './webhook-ids.ts';

/** Something that happened to a transaction of a Site. */
export type NewWebhookEvent = {
  [Type in SubscribedEventType]: {
    readonly siteId: bigint;
    readonly type: Type;
    readonly ingestionId: bigint;
    readonly data: WebhookData<Type>;
  };
}[SubscribedEventType];

/** A delivery to queue. */
export interface QueuedDelivery extends DeliveryRef {
  /** Seconds until its first attempt; at once when left out. */
  readonly afterSeconds?: number;
}

/** Queues deliveries in the caller's transaction. */
export type EnqueueDeliveries = (db: Db, deliveries: readonly QueuedDelivery[]) => Promise<unknown>;

/** Writes events where and when the caller's transaction commits; bound to the queue in one place (server/wire.ts). */
export type RecordWebhookEvents = (
  db: Db,
  events: readonly NewWebhookEvent[],
  now: number,
) => Promise<void>;

/** Days for which the events of a disabled endpoint are kept for it, so that `webhooks.recover` leaves no gap. */
const KEPT_FOR_DISABLED_DAYS = 30;

interface Listener {
  readonly endpointId: bigint;
  readonly types: ReadonlySet<string>;
  /** `now`: delivered at once. `later`: kept until its new URL is verified. `on demand`: only `webhooks.recover` sends it. */
  readonly delivers: 'now' | 'later' | 'on demand';
}

/**
 * Writes the events that some endpoint of their Site wants, their deliveries and the jobs of these. Needs an open
 * transaction, the one that changes what the events report. Sites without endpoints cost their share of one small
 * read; with endpoints it is three statements for the whole batch, sent together.
 *
 * An endpoint that is being activated for the first time gets nothing. One whose URL was changed gets what happened
 * meanwhile as soon as the new URL is verified. For one that was disabled events are kept for 30 days.
 */
export async function recordWebhookEvents(
  db: Db,
  events: readonly NewWebhookEvent[],
  now: number,
  enqueue: EnqueueDeliveries,
): Promise<void> {
  if (events.length === 0) return;
  const listeners = await readListeners(db, new Set(events.map(({ siteId }) => siteId)), now);
  const wanted = events.flatMap((event) => {
    const wanting = (listeners.get(event.siteId) ?? []).filter(({ types }) =>
      types.has(event.type),
    );
    return wanting.length === 0 ? [] : [{ event, wanting }];
  });
  if (wanted.length === 0) return;
  const ids = newEventIds(now, wanted.length);
  const written = wanted.map(({ event, wanting }, index) => ({
    event,
    wanting,
    id: ids[index] ?? '',
  }));
  const deliveries = written.flatMap(({ event, wanting, id }) =>
    wanting.flatMap(({ endpointId, delivers }) =>
      delivers === 'on demand'
        ? []
        : [{ siteId: event.siteId, endpointId, eventId: id, type: event.type, delivers }],
    ),
  );
  await together(
    insertEvents(
      db,
      written.map(({ event, id }) => ({
        siteId: event.siteId,
        eventId: id,
        type: event.type,
        ingestionId: event.ingestionId,
        body: bodyOf(id, event.type, event.data),
      })),
    ),
    insertDeliveries(
      db,
      deliveries.map(({ delivers, ...delivery }) => ({
        ...delivery,
        nextAttemptAt: delivers === 'now' ? now : null,
      })),
    ),
    enqueue(
      db,
      deliveries.filter(({ delivers }) => delivers === 'now'),
    ),
  );
}

/** The bytes that are signed and sent, the same on every attempt. */
export function bodyOf(eventId: string, type: WebhookEventType, data: unknown): string {
  return JSON.stringify({
    event_id: webhookEventIdOf(eventId),
    event_type: type,
    created_at: new Date(createdAtOf(eventId)).toISOString(),
    data,
  });
}

async function readListeners(
  db: Db,
  siteIds: ReadonlySet<bigint>,
  now: number,
): Promise<Map<bigint, Listener[]>> {
  const { rows } = await run<{
    id: string;
    site_id: string;
    event_types: string[];
    state: 'PENDING' | 'ACTIVE' | 'DISABLED';
  }>(
    db,
    `select id, site_id, to_json(event_types) as event_types, state from webhook_endpoint
     where site_id = any ($1::bigint[]) and (state = 'ACTIVE' or (activated_at is not null
       and (state = 'PENDING' or disabled_at > $2::timestamptz)))
     order by id`,
    [[...siteIds].map(String), new Date(now - KEPT_FOR_DISABLED_DAYS * 86_400_000).toISOString()],
  );
  const listeners = new Map<bigint, Listener[]>();
  for (const row of rows) {
    const siteId = BigInt(row.site_id);
    const listener: Listener = {
      endpointId: BigInt(row.id),
      types: new Set(row.event_types),
      delivers: row.state === 'ACTIVE' ? 'now' : row.state === 'PENDING' ? 'later' : 'on demand',
    };
    listeners.set(siteId, [...(listeners.get(siteId) ?? []), listener]);
  }
  return listeners;
}

/** An event on its way into its table. */
export interface EventRow {
  readonly siteId: bigint;
  readonly eventId: string;
  readonly type: WebhookEventType;
  /** Null for a challenge. */
  readonly ingestionId: bigint | null;
  readonly body: string;
}

/** Appends events; their time is in their ids. */
export async function insertEvents(db: Db, events: readonly EventRow[]): Promise<void> {
  if (events.length === 0) return;
  await run(
    db,
    `insert into webhook_event (site_id, id, created_at, type, ingestion_id, body)
     select site_id, id, created_at, type, ingestion_id, body
     from unnest($1::bigint[], $2::uuid[], $3::timestamptz[], $4::text[], $5::bigint[],
       string_to_array($6::text, $7::text)) as event (site_id, id, created_at, type, ingestion_id, body)`,
    [
      events.map(({ siteId }) => String(siteId)),
      events.map(({ eventId }) => eventId),
      events.map(({ eventId }) => new Date(createdAtOf(eventId)).toISOString()),
      events.map(({ type }) => type),
      events.map(({ ingestionId }) => (ingestionId === null ? null : String(ingestionId))),
      joinTexts(events.map(({ body }) => body)),
      RECORD_SEPARATOR,
    ],
  );
}

/** A delivery on its way into its table. `nextAttemptAt` in ms since 1970 UTC; null: held, without a job. */
export interface DeliveryRow extends DeliveryRef {
  readonly type: WebhookEventType;
  readonly nextAttemptAt: number | null;
}

/** Adds deliveries that are to be made; one that exists is left as it is. Returns how many were added. */
export async function insertDeliveries(db: Db, rows: readonly DeliveryRow[]): Promise<number> {
  if (rows.length === 0) return 0;
  const { affected } = await run(
    db,
    `insert into webhook_delivery (site_id, endpoint_id, event_id, created_at, event_type, state, next_attempt_at)
     select site_id, endpoint_id, event_id, created_at, event_type, 'PENDING', next_attempt_at
     from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::timestamptz[], $5::text[], $6::timestamptz[])
       as delivery (site_id, endpoint_id, event_id, created_at, event_type, next_attempt_at)
     on conflict (site_id, endpoint_id, event_id, created_at) do nothing`,
    [
      rows.map(({ siteId }) => String(siteId)),
      rows.map(({ endpointId }) => String(endpointId)),
      rows.map(({ eventId }) => eventId),
      rows.map(({ eventId }) => new Date(createdAtOf(eventId)).toISOString()),
      rows.map(({ type }) => type),
      rows.map(({ nextAttemptAt }) =>
        nextAttemptAt === null ? null : new Date(nextAttemptAt).toISOString(),
      ),
    ],
  );
  return affected;
}
