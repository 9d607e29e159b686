import { run, type Db } from './database.ts';
import type { LedgerRef } from './load-batch.ts';
import {
  evaluationStatus,
  STATUS_JOINS,
  JOB_ID_SQL,
  type EvaluationStatus,
  type StoredRisk,
} from './status.ts';

/** The ledger row of an ingestion, how it came in and where it stands. Times in ms since 1970 UTC. */
export interface ExplainedIngestion extends LedgerRef {
  readonly siteCode: string;
  readonly sourceEventId: string;
  readonly occurredAt: number;
  readonly receivedAt: number;
  readonly credential: {
    readonly id: bigint;
    readonly label: string | null;
    readonly environment: string | null;
  };
  readonly status: EvaluationStatus;
  readonly risk: StoredRisk | null;
  /** The features that the evaluation saw, as risk/ encodes them; null before, and once their partition was dropped. */
  readonly features: string | null;
  /** For judging it again; never shown. Null once its partition was dropped. */
  readonly body: string | null;
  readonly job: {
    readonly state: string;
    readonly claims: number;
    readonly createdAt: number;
    readonly startAfter: number;
    readonly startedAt: number | null;
    readonly completedAt: number | null;
  } | null;
}

/** One thing that happened to an ingestion; `at` in ms since 1970 UTC. */
export type StoryEntry = { readonly at: number } & (
  | {
      readonly what: 'ATTEMPT_FAILED';
      readonly attempt: number;
      readonly errorClass: string;
      readonly errorPlace: string;
    }
  | { readonly what: 'DEAD_LETTER'; readonly cause: string; readonly attempts: number }
  | { readonly what: 'REDRIVEN' | 'DISCARDED'; readonly by: string; readonly reason: string }
  | { readonly what: 'LABELLED'; readonly label: string; readonly credentialId: bigint }
  | { readonly what: 'WEBHOOK_EVENT'; readonly eventId: string; readonly type: string }
  | {
      readonly what: 'WEBHOOK_ATTEMPT';
      readonly eventId: string;
      readonly endpointId: bigint;
      readonly attempt: number;
      readonly outcome: string;
      readonly httpStatus: number | null;
      readonly errorClass: string | null;
      readonly durationMs: number;
    }
);

/** How the delivery of an event to one endpoint stands. Times in ms since 1970 UTC. */
export interface ExplainedDelivery {
  readonly eventId: string;
  readonly endpointId: bigint;
  readonly state: string;
  readonly attempts: number;
  readonly nextAttemptAt: number | null;
  readonly failure: string | null;
}

const ms = (column: string, name: string): string =>
  `(extract(epoch from ${column}) * 1000)::bigint as ${name}`;

const numberOrNull = (text: string | null): number | null => (text === null ? null : Number(text));

/** Reads an ingestion by its id, of whichever Site; undefined where there is none. */
export async function readExplained(
  db: Db,
  ingestionId: bigint,
): Promise<ExplainedIngestion | undefined> {
  const { rows } = await run<{
    site_id: string;
    code: string;
    source_event_id: string;
    occurred_at: string;
    received_at: string;
    credential_id: string;
    label: string | null;
    environment: string | null;
    score: number | null;
    level: string;
    decision: string;
    reasons: string[];
    rule_scores: Record<string, number>;
    evaluator_version: string;
    evaluated_at: string;
    features: string | null;
    body: string | null;
    dead_letter_open: boolean;
    job_state: string | null;
    kept_state: string | null;
    retry_count: number;
    created_on: string;
    start_after: string;
    started_on: string | null;
    completed_on: string | null;
  }>(
    db,
    `select event.site_id, site.code, event.source_event_id, ${ms('event.occurred_at', 'occurred_at')},
       ${ms('event.received_at', 'received_at')},
       event.credential_id, credential.label, credential.environment,
       evaluation.score, evaluation.level, evaluation.decision, evaluation.reasons, evaluation.rule_scores,
       evaluation.evaluator_version, ${ms('evaluation.evaluated_at', 'evaluated_at')}, seen.features, payload.body,
       dead.ingestion_id is not null as dead_letter_open, job.state::text as job_state, kept.state::text as kept_state,
       kept.retry_count,
       ${ms('kept.created_on', 'created_on')}, ${ms('kept.start_after', 'start_after')},
       ${ms('kept.started_on', 'started_on')}, ${ms('kept.completed_on', 'completed_on')}
     from ingestion event
     join site on site.id = event.site_id
     left join credential on credential.id = event.credential_id and credential.site_id = event.site_id
     left join ingestion_payload payload on payload.site_id = event.site_id
       and payload.ingestion_id = event.id and payload.received_at = event.received_at ${STATUS_JOINS}
     left join pgboss.job kept on kept.name = 'evaluate' and kept.id = ${JOB_ID_SQL('event.id')}
     left join evaluation_features seen on seen.site_id = evaluation.site_id
       and seen.ingestion_id = evaluation.ingestion_id and seen.evaluated_at = evaluation.evaluated_at
     where event.site_id in (select id from site) and event.id = $1`,
    [ingestionId],
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  return {
    siteId: BigInt(row.site_id),
    ingestionId,
    siteCode: row.code,
    sourceEventId: row.source_event_id,
    occurredAt: Number(row.occurred_at),
    receivedAt: Number(row.received_at),
    credential: {
      id: BigInt(row.credential_id),
      label: row.label,
      environment: row.environment,
    },
    status: evaluationStatus({
      evaluated: row.score !== null,
      deadLetterOpen: row.dead_letter_open,
      jobState: row.job_state,
    }),
    risk:
      row.score === null
        ? null
        : {
            score: row.score,
            level: row.level,
            decision: row.decision,
            reasons: row.reasons,
            ruleScores: row.rule_scores,
            evaluatorVersion: row.evaluator_version,
            evaluatedAt: Number(row.evaluated_at),
          },
    features: row.features,
    body: row.body,
    job:
      row.kept_state === null
        ? null
        : {
            state: row.kept_state,
            claims: row.retry_count,
            createdAt: Number(row.created_on),
            startAfter: Number(row.start_after),
            startedAt: numberOrNull(row.started_on),
            completedAt: numberOrNull(row.completed_on),
          },
  };
}

/** Reads what happened to an ingestion besides its acceptance and its evaluation, in order. */
export async function readStory(
  db: Db,
  ref: LedgerRef & { readonly receivedAt: number },
): Promise<StoryEntry[]> {
  const key = [ref.siteId, ref.ingestionId];
  const attempts = await run<{
    attempt: number;
    error_class: string;
    error_place: string;
    at: string;
  }>(
    db,
    `select attempt, error_class, error_place, ${ms('failed_at', 'at')} from evaluation_attempt
     where site_id = $1 and ingestion_id = $2 order by attempt`,
    key,
  );
  const letters = await run<{
    cause: string;
    attempts: number;
    at: string;
    kind: 'REDRIVEN' | 'DISCARDED' | null;
    reason: string;
    resolved_by: string;
    resolved_at: string;
  }>(
    db,
    `select letter.cause, letter.attempts, ${ms('letter.dead_at', 'at')}, resolution.kind, resolution.reason,
       resolution.resolved_by, ${ms('resolution.resolved_at', 'resolved_at')}
     from dead_letter letter
     left join dead_letter_resolution resolution on resolution.site_id = letter.site_id
       and resolution.ingestion_id = letter.ingestion_id and resolution.dead_letter_id = letter.id
     where letter.site_id = $1 and letter.ingestion_id = $2 order by letter.id`,
    key,
  );
  const labels = await run<{ outcome_label: string; credential_id: string; at: string }>(
    db,
    `select outcome_label, credential_id, ${ms('labelled_at', 'at')} from outcome_label
     where site_id = $1 and ingestion_id = $2`,
    key,
  );
  const entries: StoryEntry[] = [
    ...attempts.rows.map((row) => ({
      at: Number(row.at),
      what: 'ATTEMPT_FAILED' as const,
      attempt: row.attempt,
      errorClass: row.error_class,
      errorPlace: row.error_place,
    })),
    ...letters.rows.flatMap((row) => [
      {
        at: Number(row.at),
        what: 'DEAD_LETTER' as const,
        cause: row.cause,
        attempts: row.attempts,
      },
      ...(row.kind === null
        ? []
        : [
            {
              at: Number(row.resolved_at),
              what: row.kind,
              by: row.resolved_by,
              reason: row.reason,
            },
          ]),
    ]),
    ...labels.rows.map((row) => ({
      at: Number(row.at),
      what: 'LABELLED' as const,
      label: row.outcome_label,
      credentialId: BigInt(row.credential_id),
    })),
    ...(await readWebhookStory(db, ref)),
  ];
  // Stable: what happened in the same millisecond stays in the order above.
  return entries.sort((a, b) => a.at - b.at);
}

/** The webhook events of an ingestion and every attempt to deliver them. */
async function readWebhookStory(
  db: Db,
  ref: LedgerRef & { readonly receivedAt: number },
): Promise<StoryEntry[]> {
  // Nothing of it is older than the ingestion: older partitions are not looked into.
  const key = [ref.siteId, ref.ingestionId, new Date(ref.receivedAt).toISOString()];
  const events = await run<{ id: string; type: string; at: string }>(
    db,
    `select id, type, ${ms('created_at', 'at')} from webhook_event
     where site_id = $1 and ingestion_id = $2 and created_at >= $3::timestamptz order by created_at, id`,
    key,
  );
  if (events.rows.length === 0) return [];
  const attempts = await run<{
    event_id: string;
    endpoint_id: string;
    attempt: number;
    outcome: string;
    http_status: number | null;
    error_class: string | null;
    duration_ms: number;
    at: string;
  }>(
    db,
    `select attempt.event_id, attempt.endpoint_id, attempt.attempt, attempt.outcome, attempt.http_status,
       attempt.error_class, attempt.duration_ms, ${ms('attempt.attempted_at', 'at')}
     from webhook_endpoint endpoint
     join webhook_attempt attempt on attempt.site_id = endpoint.site_id and attempt.endpoint_id = endpoint.id
     where endpoint.site_id = $1 and attempt.event_id = any ($2::uuid[]) and attempt.attempted_at >= $3::timestamptz
     order by attempt.endpoint_id, attempt.attempt`,
    [ref.siteId, events.rows.map(({ id }) => id), key[2]],
  );
  return [
    ...events.rows.map((row) => ({
      at: Number(row.at),
      what: 'WEBHOOK_EVENT' as const,
      eventId: row.id,
      type: row.type,
    })),
    ...attempts.rows.map((row) => ({
      at: Number(row.at),
      what: 'WEBHOOK_ATTEMPT' as const,
      eventId: row.event_id,
      endpointId: BigInt(row.endpoint_id),
      attempt: row.attempt,
      outcome: row.outcome,
      httpStatus: row.http_status,
      errorClass: row.error_class,
      durationMs: row.duration_ms,
    })),
  ];
}

/** How the deliveries of an ingestion's webhook events stand. */
export async function readDeliveries(
  db: Db,
  ref: LedgerRef & { readonly receivedAt: number },
): Promise<ExplainedDelivery[]> {
  const { rows } = await run<{
    event_id: string;
    endpoint_id: string;
    state: string;
    attempts: number;
    next_attempt_at: string | null;
    failure: string | null;
  }>(
    db,
    `select delivery.event_id, delivery.endpoint_id, delivery.state, delivery.attempts,
       ${ms('delivery.next_attempt_at', 'next_attempt_at')}, delivery.failure
     from webhook_event event
     join webhook_endpoint endpoint on endpoint.site_id = event.site_id
     join webhook_delivery delivery on delivery.site_id = event.site_id and delivery.endpoint_id = endpoint.id
       and delivery.event_id = event.id and delivery.created_at = event.created_at
     where event.site_id = $1 and event.ingestion_id = $2 and event.created_at >= $3::timestamptz
     order by event.created_at, delivery.endpoint_id`,
    [ref.siteId, ref.ingestionId, new Date(ref.receivedAt).toISOString()],
  );
  return rows.map((row) => ({
    eventId: row.event_id,
    endpointId: BigInt(row.endpoint_id),
    state: row.state,
    attempts: row.attempts,
    nextAttemptAt: numberOrNull(row.next_attempt_at),
    failure: row.failure,
  }));
}

/** An accepted body as it is stored; `body` is null once its partition was dropped. */
export interface StoredPayload {
  readonly siteCode: string;
  /** ms since 1970 UTC. */
  readonly receivedAt: number;
  readonly body: string | null;
}

/** Reads the body of an ingestion, of whichever Site; undefined where there is no such ingestion. */
export async function readPayload(db: Db, ingestionId: bigint): Promise<StoredPayload | undefined> {
  const { rows } = await run<{ code: string; received_at: string; body: string | null }>(
    db,
    `select site.code, ${ms('event.received_at', 'received_at')}, payload.body
     from ingestion event
     join site on site.id = event.site_id
     left join ingestion_payload payload on payload.site_id = event.site_id
       and payload.ingestion_id = event.id and payload.received_at = event.received_at
     where event.site_id in (select id from site) and event.id = $1`,
    [ingestionId],
  );
  const row = rows[0];
  return row === undefined
    ? undefined
    : { siteCode: row.code, receivedAt: Number(row.received_at), body: row.body };
}
