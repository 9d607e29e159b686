import { Conditions } from './conditions.ts';
import { run, type Db } from './database.ts';
import { evaluationStatus, STATUS_JOINS, type EvaluationStatus } from './status.ts';

/** Which ingestions are looked for; what is undefined does not narrow. Times in ms since 1970 UTC. */
export interface IngestionFilter {
  readonly siteId?: bigint | undefined;
  readonly status?: EvaluationStatus | undefined;
  /** The normalized id, or the one that a tid replaced. */
  readonly sourceEventId?: string | undefined;
  /** Received at or after. */
  readonly from?: number | undefined;
  /** Received before. */
  readonly to?: number | undefined;
}

/** An ingestion as a search finds it. Nothing of its payload. Times in ms since 1970 UTC. */
export interface FoundIngestion {
  readonly siteId: bigint;
  readonly siteCode: string;
  readonly ingestionId: bigint;
  readonly sourceEventId: string;
  readonly credentialId: bigint;
  readonly receivedAt: number;
  readonly status: EvaluationStatus;
  readonly score: number | null;
  readonly level: string | null;
  readonly decision: string | null;
  readonly evaluatedAt: number | null;
}

/** A page of what was found. */
export interface FoundPage {
  readonly items: readonly FoundIngestion[];
  /** Where the next page begins; undefined when there is certainly none. */
  readonly next: string | undefined;
}

/** What cursors look like: where a search by time, by job or by dead letter got to. */
export const SEARCH_CURSOR = /^[tjd](\.\d{1,18}){1,2}$/;

/** The cursor belongs to a search with another filter. */
export class ForeignCursor extends Error {
  override name = 'ForeignCursor';
}

/** Rows looked at for one page: a search for what is rare returns a short page and a cursor instead of taking long. */
const LOOKED_AT = 1_000;

/** The greatest first number of a cursor: ms or microseconds of the year 9999, an id. */
const LATEST = { t: 253_402_300_799_999, j: 253_402_300_799_999_000, d: 1e18 } as const;

interface Candidate {
  readonly siteId: string;
  readonly id: string;
  /** Where a search goes on after it. */
  readonly cursor: string;
}

/** Names the next candidates after a cursor, in the order of the search. */
type Source = (after: string | undefined, limit: number) => Promise<Candidate[]>;

/**
 * Finds ingestions, newest first. Costs by the page, not by the ledger: each way of searching walks an index.
 *
 * - A status of waiting work (PENDING, RETRY_SCHEDULED) is looked for among the jobs, the one queued last first; what
 *   has lost its job appears once the sweeper has queued it again.
 * - DLQ is looked for among the open dead letters, by descending id.
 * - Everything else by the time of receipt. A page that has few matches among 1,000 rows is short, or empty, and has
 *   a cursor nevertheless.
 *
 * @throws ForeignCursor
 */
export async function searchIngestions(
  db: Db,
  filter: IngestionFilter,
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<FoundPage> {
  const { letter, source } = sourceOf(db, filter);
  if (page.after !== undefined) {
    const [first = ''] = numbersOf(page.after);
    if (!page.after.startsWith(letter) || Number(first) > LATEST[letter]) throw new ForeignCursor();
  }
  const items: FoundIngestion[] = [];
  let { after } = page;
  // Where every row matches, the first chunk is the page and the one row that says there is another.
  let chunk = page.limit + 1;
  for (let lookedAt = 0; lookedAt < LOOKED_AT;) {
    const candidates = await source(after, chunk);
    const found = await readFound(db, candidates, filter.status);
    for (const candidate of candidates) {
      const row = found.get(candidate.id);
      const matches = row !== undefined && matchesFilter(row, filter);
      if (matches && items.length === page.limit) return { items, next: after };
      if (matches) items.push(row);
      after = candidate.cursor;
    }
    if (candidates.length < chunk) return { items, next: undefined };
    lookedAt += candidates.length;
    chunk = LOOKED_AT - lookedAt;
  }
  return { items, next: after };
}

const matchesFilter = (row: FoundIngestion, { status, from, to }: IngestionFilter): boolean =>
  (status === undefined || row.status === status) &&
  (from === undefined || row.receivedAt >= from) &&
  (to === undefined || row.receivedAt < to);

function sourceOf(
  db: Db,
  filter: IngestionFilter,
): { letter: keyof typeof LATEST; source: Source } {
  if (filter.sourceEventId !== undefined) return { letter: 't', source: byEventId(db, filter) };
  const { status } = filter;
  if (status === 'DLQ') return { letter: 'd', source: byDeadLetter(db, filter) };
  if (status === 'PENDING') return { letter: 'j', source: byJob(db, filter, 'created') };
  if (status === 'RETRY_SCHEDULED') return { letter: 'j', source: byJob(db, filter, 'retry') };
  return { letter: 't', source: byTime(db, filter) };
}

const iso = (at: number): string => new Date(at).toISOString();

/** The numbers of a cursor such as `t.<ms>.<id>`. */
const numbersOf = (cursor: string): string[] => cursor.split('.').slice(1);

interface TimedRow {
  site_id: string;
  id: string;
  received_ms: string;
}

const timed = (row: TimedRow): Candidate => ({
  siteId: row.site_id,
  id: row.id,
  cursor: `t.${row.received_ms}.${row.id}`,
});

/** Adds the bounds of a search by time: `from`, `to` and the cursor. */
function boundTime(conditions: Conditions, filter: IngestionFilter, after: string | undefined) {
  conditions
    .where(
      filter.from === undefined ? undefined : iso(filter.from),
      (p) => `event.received_at >= ${p}::timestamptz`,
    )
    .where(
      filter.to === undefined ? undefined : iso(filter.to),
      (p) => `event.received_at < ${p}::timestamptz`,
    );
  if (after !== undefined) {
    const [ms, id] = numbersOf(after);
    conditions.where(
      iso(Number(ms)),
      (p) =>
        `(event.received_at, event.id) < (${p}::timestamptz, ${conditions.parameter(id)}::bigint)`,
    );
  }
}

const COLUMNS =
  'event.site_id, event.id, event.received_at, (extract(epoch from event.received_at) * 1000)::bigint as received_ms';
const NEWEST_FIRST = 'order by event.received_at desc, event.id desc';

/**
 * By time of receipt: of one Site straight by its index; of all, the newest of each, merged. A few rows of each Site give
 * a time that `limit` rows are not older than, so that no Site is read beyond it.
 */
function byTime(db: Db, filter: IngestionFilter): Source {
  return async (after, limit) => {
    const conditions = new Conditions();
    boundTime(conditions, filter, after);
    if (filter.siteId !== undefined) {
      conditions.where(filter.siteId.toString(), (p) => `event.site_id = ${p}::bigint`);
      const { rows } = await run<TimedRow>(
        db,
        `select ${COLUMNS} from ingestion event where ${conditions.text} ${NEWEST_FIRST}
         limit ${conditions.parameter(limit)}`,
        conditions.values,
      );
      return rows.map(timed);
    }
    // As parameters and not as a subquery: the planner knows how few rows they let through.
    const { rows: counted } = await run<{ sites: string }>(
      db,
      'select count(*) as sites from site',
    );
    const each = conditions.parameter(
      1 + Math.ceil((2 * limit) / (Number(counted[0]?.sites) || 1)),
    );
    const most = conditions.parameter(limit);
    const { rows } = await run<TimedRow>(
      db,
      `with newest as (
         select site.id, event.received_at from site cross join lateral (
           select event.received_at from ingestion event where event.site_id = site.id and ${conditions.text}
           ${NEWEST_FIRST} limit ${each}::int) event
       ), bound as (
         select case when count(*) >= ${most}::int then min(received_at) else '-infinity' end as least
         from (select received_at from newest order by received_at desc limit ${most}::int) top
       )
       select event.* from (select distinct id, least from newest, bound where received_at >= least) site
       cross join lateral (
         select ${COLUMNS} from ingestion event
         where event.site_id = site.id and event.received_at >= site.least and ${conditions.text}
         ${NEWEST_FIRST} limit ${most}::int) event
       ${NEWEST_FIRST} limit ${most}::int`,
      conditions.values,
    );
    return rows.map(timed);
  };
}

/** By the event's id: at most a few rows for each Site. */
function byEventId(db: Db, filter: IngestionFilter): Source {
  return async (after, limit) => {
    const conditions = new Conditions();
    const id = conditions.parameter(filter.sourceEventId);
    boundTime(conditions, filter, after);
    const site =
      filter.siteId === undefined
        ? 'in (select id from site)'
        : `= ${conditions.parameter(filter.siteId.toString())}::bigint`;
    const { rows } = await run<TimedRow>(
      db,
      `select * from (
         select ${COLUMNS} from ingestion event
         where event.site_id ${site} and event.source_event_id = ${id} and ${conditions.text}
         union
         select ${COLUMNS} from ingestion event
         where event.site_id ${site} and event.caller_event_id = ${id} and ${conditions.text}) event
       ${NEWEST_FIRST} limit ${conditions.parameter(limit)}`,
      conditions.values,
    );
    return rows.map(timed);
  };
}

/** By waiting job, the one queued last first: the queue's own index of what waits, read backwards. */
function byJob(db: Db, filter: IngestionFilter, state: 'created' | 'retry'): Source {
  return async (after, limit) => {
    const conditions = new Conditions();
    conditions
      .where(state, (p) => `job.state::text = ${p}::text`)
      .where(filter.siteId?.toString(), (p) => `job.data->>'site_id' = ${p}::text`);
    if (after !== undefined) {
      const [microseconds, id] = numbersOf(after);
      conditions.where(
        microseconds,
        (p) => `(job.created_on, (job.data->>'ingestion_id')::bigint) <
          ('epoch'::timestamptz + ${p}::bigint * interval '1 microsecond', ${conditions.parameter(id)}::bigint)`,
      );
    }
    const { rows } = await run<{ site_id: string; id: string; created_us: string }>(
      db,
      `select job.data->>'site_id' as site_id, job.data->>'ingestion_id' as id,
         (extract(epoch from job.created_on) * 1000000)::bigint as created_us
       from pgboss.job
       where job.name = 'evaluate' and job.state < 'active' and not job.blocked and job.priority = 0
         and ${conditions.text}
       order by job.created_on desc, (job.data->>'ingestion_id')::bigint desc
       limit ${conditions.parameter(limit)}`,
      conditions.values,
    );
    return rows.map((row) => ({
      siteId: row.site_id,
      id: row.id,
      cursor: `j.${row.created_us}.${row.id}`,
    }));
  };
}

/** By open dead letter, discarded ones too: their events stay in DLQ. */
function byDeadLetter(db: Db, filter: IngestionFilter): Source {
  return async (after, limit) => {
    const conditions = new Conditions();
    conditions
      .where(filter.siteId?.toString(), (p) => `dead.site_id = ${p}::bigint`)
      .where(
        after === undefined ? undefined : numbersOf(after)[0],
        (p) => `dead.ingestion_id < ${p}::bigint`,
      );
    const { rows } = await run<{ site_id: string; id: string }>(
      db,
      `select dead.site_id, dead.ingestion_id as id from open_dead_letter dead where ${conditions.text}
       order by dead.ingestion_id desc limit ${conditions.parameter(limit)}`,
      conditions.values,
    );
    return rows.map((row) => ({ siteId: row.site_id, id: row.id, cursor: `d.${row.id}` }));
  };
}

/** An evaluation is what makes SUCCEEDED and nothing else: rows that cannot match need not travel. */
const evaluatedOnly = (status: EvaluationStatus | undefined): string => {
  if (status === undefined) return '';
  return `where evaluation.ingestion_id is ${status === 'SUCCEEDED' ? 'not ' : ''}null`;
};

/** Reads what was found, by ingestion id; those that cannot have the status may be missing. */
async function readFound(
  db: Db,
  candidates: readonly Candidate[],
  status: EvaluationStatus | undefined,
): Promise<Map<string, FoundIngestion>> {
  const found = new Map<string, FoundIngestion>();
  const { rows } = await run<{
    site_id: string;
    code: string;
    id: string;
    source_event_id: string;
    credential_id: string;
    received_at: string;
    score: number | null;
    level: string | null;
    decision: string | null;
    evaluated_at: string | null;
    dead_letter_open: boolean;
    job_state: string | null;
  }>(
    db,
    `select event.site_id, site.code, event.id, event.source_event_id, event.credential_id,
         (extract(epoch from event.received_at) * 1000)::bigint as received_at, evaluation.score, evaluation.level,
         evaluation.decision, (extract(epoch from evaluation.evaluated_at) * 1000)::bigint as evaluated_at,
         dead.ingestion_id is not null as dead_letter_open, job.state::text as job_state
       from unnest($1::bigint[], $2::bigint[]) as wanted (site_id, id)
       join ingestion event on event.site_id = wanted.site_id and event.id = wanted.id
       join site on site.id = event.site_id ${STATUS_JOINS} ${evaluatedOnly(status)}`,
    [candidates.map(({ siteId }) => siteId), candidates.map(({ id }) => id)],
  );
  for (const row of rows) {
    found.set(row.id, {
      siteId: BigInt(row.site_id),
      siteCode: row.code,
      ingestionId: BigInt(row.id),
      sourceEventId: row.source_event_id,
      credentialId: BigInt(row.credential_id),
      receivedAt: Number(row.received_at),
      status: evaluationStatus({
        evaluated: row.score !== null,
        deadLetterOpen: row.dead_letter_open,
        jobState: row.job_state,
      }),
      score: row.score,
      level: row.level,
      decision: row.decision,
      evaluatedAt: row.evaluated_at === null ? null : Number(row.evaluated_at),
    });
  }
  return found;
}
