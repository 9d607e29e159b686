import { run, type Db } from './database.ts';
import { compare } from './ordering.ts';
import { together } from './transactions.ts';
import { creationSpan, deliveryKeys } from './webhook-claims.ts';
import type { DeliveryRef } from './webhook-ids.ts';

/** One attempt as it is kept. Times in ms since 1970 UTC. */
export interface RecordedAttempt {
  readonly attemptedAt: number;
  readonly durationMs: number;
  readonly httpStatus: number | undefined;
  readonly errorClass: string | undefined;
  /** What was dialled. */
  readonly address: string | undefined;
  /** At most 256 bytes, free of forbidden data. */
  readonly answer: string | undefined;
}

/** Why a delivery has ended without success. */
export type DeliveryFailure = 'EXHAUSTED' | 'GONE' | 'ENDPOINT_DISABLED' | 'CHALLENGE_VOID';

/** What becomes of a delivery that was claimed. Times in ms since 1970 UTC. */
export interface DeliveryOutcome extends DeliveryRef {
  /** Attempts when it was claimed: a delivery that somebody else moved on since is left to them. */
  readonly attemptsSeen: number;
  /** PENDING with `nextAttemptAt`: tried again then. PENDING without: held, see webhook-held.ts. */
  readonly state: 'PENDING' | 'DELIVERED' | 'FAILED';
  readonly step: number;
  readonly nextAttemptAt: number | undefined;
  readonly failure: DeliveryFailure | undefined;
  /** Absent where nothing was sent. */
  readonly attempt: RecordedAttempt | undefined;
}

const iso = (at: number | undefined): string | null =>
  at === undefined ? null : new Date(at).toISOString();

/** The name of a delivery within one batch. */
export const deliveryName = ({ endpointId, eventId }: Omit<DeliveryRef, 'siteId'>): string =>
  `${endpointId}/${eventId}`;

/**
 * Moves deliveries on and appends their attempts. Needs an open transaction. An attempt is a fact and is kept in any
 * case; a delivery that was moved on by somebody else meanwhile stays as they left it, unless this attempt delivered it.
 *
 * @returns the names ({@link deliveryName}) of those that were moved on
 */
export async function recordOutcomes(
  db: Db,
  outcomes: readonly DeliveryOutcome[],
  now: number,
): Promise<Set<string>> {
  if (outcomes.length === 0) return new Set();
  const ordered = [...outcomes].sort(
    (a, b) =>
      compare(a.siteId, b.siteId) ||
      compare(a.endpointId, b.endpointId) ||
      compare(a.eventId, b.eventId),
  );
  const [moved] = await together(moveOn(db, ordered, now), appendAttempts(db, ordered));
  return moved;
}

async function moveOn(
  db: Db,
  outcomes: readonly DeliveryOutcome[],
  now: number,
): Promise<Set<string>> {
  const { rows } = await run<{ endpoint_id: string; event_id: string }>(
    db,
    `update webhook_delivery delivery set
       state = outcome.state,
       step = outcome.step,
       attempts = delivery.attempts + (case when outcome.attempted_at is null then 0 else 1 end),
       next_attempt_at = outcome.next_attempt_at,
       last_attempt_at = coalesce(outcome.attempted_at, delivery.last_attempt_at),
       settled_at = case when outcome.state = 'PENDING' then null else $11::timestamptz end,
       failure = outcome.failure
     from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::timestamptz[], $5::int[], $6::text[], $7::smallint[],
       $8::timestamptz[], $9::text[], $10::timestamptz[]) as outcome (site_id, endpoint_id, event_id, created_at,
       attempts_seen, state, step, next_attempt_at, failure, attempted_at)
     where delivery.site_id = outcome.site_id and delivery.endpoint_id = outcome.endpoint_id
       and delivery.event_id = outcome.event_id and delivery.created_at = outcome.created_at
       and delivery.created_at between $12::timestamptz and $13::timestamptz
       and (case when outcome.state = 'DELIVERED' then delivery.state <> 'DELIVERED'
         else delivery.state = 'PENDING' and delivery.attempts = outcome.attempts_seen end)
     returning delivery.endpoint_id, delivery.event_id`,
    [
      ...deliveryKeys(outcomes),
      outcomes.map(({ attemptsSeen }) => attemptsSeen),
      outcomes.map(({ state }) => state),
      outcomes.map(({ step }) => step),
      outcomes.map(({ nextAttemptAt }) => iso(nextAttemptAt)),
      outcomes.map(({ failure }) => failure ?? null),
      outcomes.map(({ attempt }) => iso(attempt?.attemptedAt)),
      iso(now),
      ...creationSpan(outcomes),
    ],
  );
  return new Set(
    rows.map((row) => deliveryName({ endpointId: BigInt(row.endpoint_id), eventId: row.event_id })),
  );
}

async function appendAttempts(db: Db, outcomes: readonly DeliveryOutcome[]): Promise<void> {
  const made = outcomes.flatMap(({ attempt, ...outcome }) =>
    attempt === undefined ? [] : [{ ...outcome, attempt }],
  );
  if (made.length === 0) return;
  const [sites = [], endpoints = [], events = []] = deliveryKeys(made);
  await run(
    db,
    `insert into webhook_attempt (site_id, endpoint_id, event_id, attempt, attempted_at, outcome, duration_ms,
       http_status, error_class, address, answer, next_attempt_at)
     select site_id, endpoint_id, event_id, attempt, attempted_at, outcome, duration_ms, http_status, error_class,
       address, answer, next_attempt_at
     from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::int[], $5::timestamptz[], $6::text[], $7::int[],
       $8::smallint[], $9::text[], $10::text[], $11::text[], $12::timestamptz[]) as made (site_id, endpoint_id,
       event_id, attempt, attempted_at, outcome, duration_ms, http_status, error_class, address, answer,
       next_attempt_at)
     on conflict (site_id, endpoint_id, event_id, attempt, attempted_at) do nothing`,
    [
      sites,
      endpoints,
      events,
      made.map(({ attemptsSeen }) => attemptsSeen + 1),
      made.map(({ attempt }) => iso(attempt.attemptedAt)),
      made.map(({ state }) => (state === 'PENDING' ? 'RETRY' : state)),
      made.map(({ attempt }) => attempt.durationMs),
      made.map(({ attempt }) => attempt.httpStatus ?? null),
      made.map(({ attempt }) => attempt.errorClass ?? null),
      made.map(({ attempt }) => attempt.address ?? null),
      made.map(({ attempt }) => attempt.answer ?? null),
      made.map(({ nextAttemptAt }) => iso(nextAttemptAt)),
    ],
  );
}
