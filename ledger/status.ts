import { plainArray } from './array-literals.ts';
import { run, type Db } from './database.ts';
import { gather } from './gather.ts';

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
  index: string;
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

/**
 * What the status of `event`, a row of the ledger, is derived from. The job is looked up only where nothing stands above
 * it: its key is the dearest of the three, and of nearly every event the evaluation answers.
 */
export const STATUS_JOINS = `
  left join evaluation on evaluation.site_id = event.site_id and evaluation.ingestion_id = event.id
  left join open_dead_letter dead on dead.site_id = event.site_id and dead.ingestion_id = event.id
  left join pgboss.job on job.name = 'evaluate' and job.id =
    case when evaluation.ingestion_id is null and dead.ingestion_id is null then ${JOB_ID_SQL('event.id')} end`;

const stateQuery = (idType: string, idColumn: string): string => `
  select wanted.index, event.id, event.source_event_id, (extract(epoch from event.received_at) * 1000)::bigint as received_at,
    evaluation.score, evaluation.level, evaluation.decision, evaluation.reasons, evaluation.rule_scores,
    evaluation.evaluator_version, (extract(epoch from evaluation.evaluated_at) * 1000)::bigint as evaluated_at,
    dead.ingestion_id is not null as dead_letter_open, job.state::text as job_state
  from unnest($1::bigint[], $2::${idType}[]) with ordinality as wanted (site_id, id, index)
  join ingestion event on event.site_id = wanted.site_id and event.${idColumn} = wanted.id ${STATUS_JOINS}`;

const BY_ID = stateQuery('bigint', 'id');
const BY_SOURCE_EVENT_ID = stateQuery('text', 'source_event_id');

/** An ingestion as one Site knows it. */
export interface Wanted<Id> {
  readonly siteId: bigint;
  readonly id: Id;
}

/**
 * Looks ingestions up by their ids, each within its Site; in the order asked for, undefined for another Site's id as for
 * a missing one.
 */
export function findStatesById(
  db: Db,
  wanted: readonly Wanted<bigint>[],
): Promise<(IngestionState | undefined)[]> {
  return findStates(db, BY_ID, wanted, plainArray(wanted.map(({ id }) => id)));
}

/** The same by normalized source_event_id. */
export function findStatesBySourceEventId(
  db: Db,
  wanted: readonly Wanted<string>[],
): Promise<(IngestionState | undefined)[]> {
  return findStates(
    db,
    BY_SOURCE_EVENT_ID,
    wanted,
    wanted.map(({ id }) => id),
  );
}

async function findStates(
  db: Db,
  query: string,
  wanted: readonly Wanted<unknown>[],
  ids: string | string[],
): Promise<(IngestionState | undefined)[]> {
  const sites = plainArray(wanted.map(({ siteId }) => siteId));
  const { rows } = await run<StateRow>(db, query, [sites, ids]);
  const states = Array.from<IngestionState | undefined>({ length: wanted.length });
  for (const row of rows) states[Number(row.index) - 1] = stateOf(row);
  return states;
}

/** Look-ups of many requests at once, one statement for those that come together. */
export interface StateLookUps {
  readonly byId: (wanted: Wanted<bigint>) => Promise<IngestionState | undefined>;
  readonly bySourceEventId: (wanted: Wanted<string>) => Promise<IngestionState | undefined>;
}

/** Two statements at once, so that one slow page does not hold up everybody; more would only make smaller sets. */
const LOOK_UPS = { lanes: 2, most: 128, waiting: 8_192 };

/** Builds the look-ups of one process. */
export function createStateLookUps(pool: () => Db): StateLookUps {
  return {
    byId: gather({ ...LOOK_UPS, answer: (wanted) => findStatesById(pool(), wanted) }),
    bySourceEventId: gather({
      ...LOOK_UPS,
      answer: (wanted) => findStatesBySourceEventId(pool(), wanted),
    }),
  };
}

function stateOf(row: StateRow): IngestionState {
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
