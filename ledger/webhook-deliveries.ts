import { run, type Db } from './database.ts';
import { createdAtOf, type DeliveryRef } from './webhook-ids.ts';
import type { EndpointRef } from './webhook-endpoints.ts';

/** Where a delivery stands; the states are drawn in migration 0007. */
export type DeliveryState = 'PENDING' | 'DELIVERED' | 'FAILED';

/** What one attempt came to. Times in ms since 1970 UTC. */
export interface AttemptView {
  readonly attempt: number;
  readonly attemptedAt: number;
  readonly outcome: 'DELIVERED' | 'RETRY' | 'FAILED';
  readonly durationMs: number;
  readonly httpStatus: number | null;
  readonly errorClass: string | null;
  /** The address that was dialled. */
  readonly address: string | null;
  /** The beginning of the answer, scanned for forbidden data. */
  readonly answer: string | null;
  readonly nextAttemptAt: number | null;
}

/** A delivery as operators see it. Times in ms since 1970 UTC. */
export interface DeliveryView extends DeliveryRef {
  readonly eventType: string;
  /** Null for a challenge. */
  readonly ingestionId: bigint | null;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly failure: string | null;
  readonly nextAttemptAt: number | null;
  readonly settledAt: number | null;
  /** The newest attempt; null before the first. */
  readonly last: AttemptView | null;
}

interface AttemptRow {
  attempt: number;
  attempted_at: string;
  outcome: AttemptView['outcome'];
  duration_ms: number;
  http_status: number | null;
  error_class: string | null;
  address: string | null;
  answer: string | null;
  attempt_next_at: string | null;
}

interface DeliveryRow extends Omit<AttemptRow, 'attempt'> {
  attempt: number | null;
  event_id: string;
  event_type: string;
  ingestion_id: string | null;
  state: DeliveryState;
  attempts: number;
  failure: string | null;
  next_attempt_at: string | null;
  settled_at: string | null;
}

const iso = (at: number): string => new Date(at).toISOString();
const ms = (column: string, name: string): string =>
  `(extract(epoch from ${column}) * 1000)::bigint as ${name}`;
const numberOrNull = (text: string | null): number | null => (text === null ? null : Number(text));

const ATTEMPT = `attempt.attempt, ${ms('attempt.attempted_at', 'attempted_at')}, attempt.outcome, attempt.duration_ms,
  attempt.http_status, attempt.error_class, attempt.address, attempt.answer,
  ${ms('attempt.next_attempt_at', 'attempt_next_at')}`;

const attemptOf = (row: AttemptRow): AttemptView => ({
  attempt: row.attempt,
  attemptedAt: Number(row.attempted_at),
  outcome: row.outcome,
  durationMs: row.duration_ms,
  httpStatus: row.http_status,
  errorClass: row.error_class,
  address: row.address,
  answer: row.answer,
  nextAttemptAt: numberOrNull(row.attempt_next_at),
});

/**
 * Reads a page of an endpoint's deliveries, newest event first, those of events before `before` (a UUID).
 *
 * The newest attempt is found by its number and moment, which the delivery holds, so that one partition is looked at.
 */
export async function listDeliveries(
  db: Db,
  endpoint: EndpointRef,
  page: {
    readonly state: DeliveryState | undefined;
    readonly before: string | undefined;
    readonly limit: number;
  },
): Promise<DeliveryView[]> {
  const { siteId, endpointId } = endpoint;
  const { rows } = await run<DeliveryRow>(
    db,
    `with page as materialized (
       select * from webhook_delivery
       where site_id = $1 and endpoint_id = $2 and ($3::uuid is null or event_id < $3::uuid)
         and ($4::timestamptz is null or created_at <= $4::timestamptz)
         and ($5::text is null or state = $5::text)
       order by event_id desc limit $6
     )
     select page.event_id, page.event_type, event.ingestion_id, page.state, page.attempts, page.failure,
       ${ms('page.next_attempt_at', 'next_attempt_at')}, ${ms('page.settled_at', 'settled_at')}, ${ATTEMPT}
     from page
     left join webhook_event event on event.site_id = page.site_id and event.id = page.event_id
       and event.created_at = page.created_at
     left join webhook_attempt attempt on attempt.site_id = page.site_id and attempt.endpoint_id = page.endpoint_id
       and attempt.event_id = page.event_id and attempt.attempt = page.attempts
       and attempt.attempted_at = page.last_attempt_at
     order by page.event_id desc`,
    [
      siteId,
      endpointId,
      page.before ?? null,
      page.before === undefined ? null : iso(createdAtOf(page.before)),
      page.state ?? null,
      page.limit,
    ],
  );
  return rows.map((row) => ({
    siteId,
    endpointId,
    eventId: row.event_id,
    eventType: row.event_type,
    ingestionId: row.ingestion_id === null ? null : BigInt(row.ingestion_id),
    state: row.state,
    attempts: row.attempts,
    failure: row.failure,
    nextAttemptAt: numberOrNull(row.next_attempt_at),
    settledAt: numberOrNull(row.settled_at),
    last: row.attempt === null ? null : attemptOf({ ...row, attempt: row.attempt }),
  }));
}

/** Reads the attempts of one delivery, newest first, those with numbers below `before`. */
export async function listAttempts(
  db: Db,
  { siteId, endpointId, eventId }: DeliveryRef,
  page: { readonly before: number | undefined; readonly limit: number },
): Promise<AttemptView[]> {
  const { rows } = await run<AttemptRow>(
    db,
    `select ${ATTEMPT} from webhook_attempt attempt
     where attempt.site_id = $1 and attempt.endpoint_id = $2 and attempt.event_id = $3::uuid
       and attempt.attempted_at >= $4::timestamptz and ($5::int is null or attempt.attempt < $5::int)
     order by attempt.attempt desc limit $6`,
    [siteId, endpointId, eventId, iso(createdAtOf(eventId)), page.before ?? null, page.limit],
  );
  return rows.map(attemptOf);
}

/** The state of one delivery and the type of its event, locked until the transaction ends; undefined: there is none. */
export async function lockDelivery(
  db: Db,
  { siteId, endpointId, eventId }: DeliveryRef,
): Promise<{ readonly state: DeliveryState; readonly eventType: string } | undefined> {
  const { rows } = await run<{ state: DeliveryState; event_type: string }>(
    db,
    `select state, event_type from webhook_delivery where site_id = $1 and endpoint_id = $2 and event_id = $3::uuid
       and created_at = $4::timestamptz for update`,
    [siteId, endpointId, eventId, iso(createdAtOf(eventId))],
  );
  const row = rows[0];
  return row === undefined ? undefined : { state: row.state, eventType: row.event_type };
}

/** A delivery that is to be made again. `at` in ms since 1970 UTC: when it is due. */
export interface Rescheduled extends DeliveryRef {
  readonly at: number;
}

/** Puts deliveries back to the beginning of the schedule; their attempts go on counting. Their jobs are the caller's. */
export async function rescheduleDeliveries(db: Db, rows: readonly Rescheduled[]): Promise<void> {
  if (rows.length === 0) return;
  await run(
    db,
    `update webhook_delivery as delivery
     set state = 'PENDING', step = 0, next_attempt_at = again.at, settled_at = null, failure = null
     from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::timestamptz[], $5::timestamptz[])
       as again (site_id, endpoint_id, event_id, created_at, at)
     where delivery.site_id = again.site_id and delivery.endpoint_id = again.endpoint_id
       and delivery.event_id = again.event_id and delivery.created_at = again.created_at`,
    [
      rows.map(({ siteId }) => String(siteId)),
      rows.map(({ endpointId }) => String(endpointId)),
      rows.map(({ eventId }) => eventId),
      rows.map(({ eventId }) => iso(createdAtOf(eventId))),
      rows.map(({ at }) => iso(at)),
    ],
  );
}
