import { run, type Db } from './database.ts';

/** The contract's vocabulary of evaluation progress. */
export type EvaluationStatus = 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'SUCCEEDED' | 'DLQ';

/** What the status of an ingestion is derived from. */
export interface StatusFacts {
  readonly evaluated: boolean;
  readonly deadLetterOpen: boolean;
  /** pg-boss state of the evaluation job; null where no job row exists. */
  readonly jobState: string | null;
}

/**
 * The one place where status comes from; it is never stored. An evaluation wins, then an open dead letter, then the
 * job. Any other job state, or none, is PENDING: the sweeper's case. docs/decisions/0004-status-derivation.md
 */
export function evaluationStatus(facts: StatusFacts): EvaluationStatus {
  if (facts.evaluated) return 'SUCCEEDED';
  if (facts.deadLetterOpen) return 'DLQ';
  if (facts.jobState === 'active') return 'PROCESSING';
  if (facts.jobState === 'retry') return 'RETRY_SCHEDULED';
  return 'PENDING';
}

/** True where nothing will ever evaluate the ingestion unless it is queued again. Shares its cases with the status. */
export function needsRequeue(facts: StatusFacts): boolean {
  return evaluationStatus(facts) === 'PENDING' && facts.jobState !== 'created';
}

/** The stored risk result. `evaluatedAt` in ms since 1970 UTC. */
export interface StoredRisk {
  readonly score: number;
  readonly level: string;
  readonly decision: string;
  readonly reasons: string[];
  readonly ruleScores: Record<string, number>;
  readonly evaluatorVersion: string;
  readonly evaluatedAt: number;
}

/** Where one ingestion stands. Times in ms since 1970 UTC. */
export interface IngestionState {
  readonly ingestionId: bigint;
  readonly sourceEventId: string;
  readonly receivedAt: number;
  readonly status: EvaluationStatus;
  readonly risk: StoredRisk | null;
}

interface StateRow {
  id: string;
  source_event_id: string;
  received_at: string;
  score: number | null;
  level: string;
  decision: string;
  reasons: string[];
  rule_scores: Record<string, number>;
  evaluator_version: string;
  evaluated_at: string;
  dead_letter_open: boolean;
  job_state: string | null;
}

/** SQL for the job id that `evaluationJobId` (ids.ts) computes; a test holds the two together. */
export const JOB_ID_SQL = (id: string): string =>
  `(overlay(overlay(lpad(to_hex(${id}), 16, '0') placing '8' from 13 for 0) placing '8' from 17 for 0) || '00000000000000')::uuid`;

/** What the status of `event`, a row of the ledger, is derived from. */
export const STATUS_JOINS = `
  left join evaluation on evaluation.site_id = event.site_id and evaluation.ingestion_id = event.id
  left join open_dead_letter dead on dead.site_id = event.site_id and dead.ingestion_id = event.id
  left join pgboss.job on job.name = 'evaluate' and job.id = ${JOB_ID_SQL('event.id')}`;

const STATE = `
  select event.id, event.source_event_id, (extract(epoch from event.received_at) * 1000)::bigint as received_at,
    evaluation.score, evaluation.level, evaluation.decision, evaluation.reasons, evaluation.rule_scores,
    evaluation.evaluator_version, (extract(epoch from evaluation.evaluated_at) * 1000)::bigint as evaluated_at,
    dead.ingestion_id is not null as dead_letter_open, job.state::text as job_state
  from ingestion event ${STATUS_JOINS}`;

/** Looks an ingestion up by id within a Site; undefined for another Site's id as for a missing one. */
export async function findStateById(
  db: Db,
  siteId: bigint,
  ingestionId: bigint,
): Promise<IngestionState | undefined> {
  const { rows } = await run<StateRow>(db, `${STATE} where event.site_id = $1 and event.id = $2`, [
    siteId,
    ingestionId,
  ]);
  return stateOf(rows[0]);
}

/** Looks an ingestion up by its normalized source_event_id within a Site. */
export async function findStateBySourceEventId(
  db: Db,
  siteId: bigint,
  sourceEventId: string,
): Promise<IngestionState | undefined> {
  const { rows } = await run<StateRow>(
    db,
    `${STATE} where event.site_id = $1 and event.source_event_id = $2`,
    [siteId, sourceEventId],
  );
  return stateOf(rows[0]);
}

function stateOf(row: StateRow | undefined): IngestionState | undefined {
  if (row === undefined) return undefined;
  const facts = {
    evaluated: row.score !== null,
    deadLetterOpen: row.dead_letter_open,
    jobState: row.job_state,
  };
  return {
    ingestionId: BigInt(row.id),
    sourceEventId: row.source_event_id,
    receivedAt: Number(row.received_at),
    status: evaluationStatus(facts),
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
  };
}
