import { run, type Db } from './database.ts';
import type { JsonValue } from './operator-events.ts';

/** Where long work stands. QUEUED and RUNNING go on by themselves, also after a crash; the others are final. */
export type TaskState = 'QUEUED' | 'RUNNING' | 'DONE' | 'FAILED' | 'CANCELED';

/** Long work on its way into the table. */
export interface NewTask {
  /** Names the handler, such as `dead_letters.redrive`. */
  readonly kind: string;
  /** 0n where it concerns no Site. */
  readonly siteId: bigint;
  /** What the handler needs to know; never a secret, since operators see it. */
  readonly input: JsonValue;
  /** How much there is to do, where it is known already. */
  readonly total?: number;
  /** Who asked for it. */
  readonly by: string;
  /** ms since 1970 UTC. */
  readonly at: number;
}

/** A task as its handler gets it. */
export interface RunningTask {
  readonly id: bigint;
  readonly kind: string;
  readonly siteId: bigint;
  readonly input: JsonValue;
  /** What the last `progress` kept; null at the first start. */
  readonly position: JsonValue;
  readonly done: number;
  readonly total: number | null;
  readonly createdBy: string;
  /** Number of this start: nothing that an earlier one still does is kept. */
  readonly start: number;
  /** Starts since anything was last achieved, this one included. */
  readonly fruitlessStarts: number;
}

/** How far a task got. What is left out stays as it is. */
export interface TaskProgress {
  readonly done?: number;
  readonly total?: number;
  /** Where to go on after a crash; handed to the next start as `position`. */
  readonly position?: JsonValue;
}

/** A task as operators see it. Times in ms since 1970 UTC. */
export interface TaskView {
  readonly id: bigint;
  readonly kind: string;
  readonly siteCode: string | null;
  readonly state: TaskState;
  readonly input: JsonValue;
  readonly done: number;
  readonly total: number | null;
  readonly result: JsonValue;
  readonly error: string | null;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly updatedAt: number;
  readonly finishedAt: number | null;
}

/** The task was canceled, or given to another worker: this start of it must keep nothing more. */
export class TaskStopped extends Error {
  override name = 'TaskStopped';
}

const iso = (at: number): string => new Date(at).toISOString();

/** Adds a task in the caller's transaction; returns its id. It runs once its job is queued in the same transaction. */
export async function createTask(db: Db, task: NewTask): Promise<bigint> {
  const { rows } = await run<{ id: string }>(
    db,
    `insert into task (kind, site_id, state, input, done, total, starts, fruitless_starts, created_by, created_at, updated_at)
     select $1::text, $2::bigint, 'QUEUED', $3::jsonb, 0, $6::bigint, 0, 0, $4::text, $5::timestamptz, $5::timestamptz
     returning id`,
    [task.kind, task.siteId, JSON.stringify(task.input), task.by, iso(task.at), task.total ?? null],
  );
  return BigInt(rows[0]?.id ?? 0);
}

/** Begins a task, or begins it again; undefined when it has ended already, or does not exist. */
export async function beginTask(db: Db, id: bigint, at: number): Promise<RunningTask | undefined> {
  const { rows } = await run<{
    kind: string;
    site_id: string;
    input: JsonValue;
    position: JsonValue;
    done: string;
    total: string | null;
    created_by: string;
    starts: number;
    fruitless_starts: number;
  }>(
    db,
    `update task set state = 'RUNNING', starts = starts + 1, fruitless_starts = fruitless_starts + 1,
       started_at = coalesce(started_at, $2::timestamptz), updated_at = $2::timestamptz
     where id = $1 and state in ('QUEUED', 'RUNNING')
     returning kind, site_id, input, position, done, total, created_by, starts, fruitless_starts`,
    [id, iso(at)],
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  return {
    id,
    kind: row.kind,
    siteId: BigInt(row.site_id),
    input: row.input,
    position: row.position,
    done: Number(row.done),
    total: row.total === null ? null : Number(row.total),
    createdBy: row.created_by,
    start: row.starts,
    fruitlessStarts: row.fruitless_starts,
  };
}

/**
 * Keeps how far a task got. In the transaction of the work it reports, both are kept or neither, so a task that is
 * begun again repeats nothing.
 *
 * @throws TaskStopped when it was canceled or another start has taken over
 */
export async function saveProgress(
  db: Db,
  task: RunningTask,
  progress: TaskProgress,
  at: number,
): Promise<void> {
  const { affected } = await run(
    db,
    `update task set done = coalesce($3::bigint, done), total = coalesce($4::bigint, total),
       position = coalesce($5::jsonb, position), fruitless_starts = 0, updated_at = $6::timestamptz
     where id = $1 and starts = $2 and state = 'RUNNING'`,
    [
      task.id,
      task.start,
      progress.done ?? null,
      progress.total ?? null,
      progress.position === undefined ? null : JSON.stringify(progress.position),
      iso(at),
    ],
  );
  if (affected !== 1) throw new TaskStopped();
}

/** How a start ended: for good, or to be begun again. */
export type TaskEnd =
  | { readonly state: 'DONE'; readonly result: JsonValue }
  | { readonly state: 'FAILED'; readonly error: string }
  | { readonly state: 'QUEUED' };

/**
 * Ends a start of a task. One that gives it back (a stop, an outage) says so, and is no fruitless start.
 *
 * @returns false when it was canceled or taken over meanwhile, and nothing changed
 */
export async function endTask(
  db: Db,
  task: RunningTask,
  end: TaskEnd,
  at: number,
): Promise<boolean> {
  const { affected } = await run(
    db,
    `update task set state = $3::text, result = $4::jsonb, error = $5::text, updated_at = $6::timestamptz,
       finished_at = case when $3::text = 'QUEUED' then null else $6::timestamptz end,
       fruitless_starts = greatest(0, fruitless_starts - case when $3::text = 'QUEUED' then 1 else 0 end)
     where id = $1 and starts = $2 and state = 'RUNNING'`,
    [
      task.id,
      task.start,
      end.state,
      end.state === 'DONE' ? JSON.stringify(end.result) : null,
      end.state === 'FAILED' ? end.error : null,
      iso(at),
    ],
  );
  return affected === 1;
}

/** Cancels a task that has not ended; what it achieved stays. Returns the state it was in, undefined if there is none. */
export async function cancelTask(db: Db, id: bigint, at: number): Promise<TaskState | undefined> {
  const { rows } = await run<{ state: TaskState }>(
    db,
    'select state from task where id = $1 for update',
    [id],
  );
  const state = rows[0]?.state;
  if (state === 'QUEUED' || state === 'RUNNING') {
    await run(
      db,
      `update task set state = 'CANCELED', updated_at = $2::timestamptz, finished_at = $2::timestamptz where id = $1`,
      [id, iso(at)],
    );
  }
  return state;
}

/** Whether a start still holds its task. */
export async function holdsTask(db: Db, task: RunningTask): Promise<boolean> {
  const { rows } = await run(
    db,
    `select 1 from task where id = $1 and starts = $2 and state = 'RUNNING'`,
    [task.id, task.start],
  );
  return rows.length === 1;
}

interface ViewRow {
  id: string;
  kind: string;
  code: string | null;
  state: TaskState;
  input: JsonValue;
  done: string;
  total: string | null;
  result: JsonValue;
  error: string | null;
  created_by: string;
  created_at: string;
  started_at: string | null;
  updated_at: string;
  finished_at: string | null;
}

const ms = (column: string): string =>
  `(extract(epoch from task.${column}) * 1000)::bigint as ${column}`;

const VIEW = `select task.id, task.kind, site.code, task.state, task.input, task.done, task.total, task.result, task.error,
    task.created_by, ${ms('created_at')}, ${ms('started_at')}, ${ms('updated_at')}, ${ms('finished_at')}
  from task left join site on site.id = task.site_id`;

const numberOrNull = (text: string | null): number | null => (text === null ? null : Number(text));

const viewOf = (row: ViewRow): TaskView => ({
  id: BigInt(row.id),
  kind: row.kind,
  siteCode: row.code,
  state: row.state,
  input: row.input,
  done: Number(row.done),
  total: numberOrNull(row.total),
  result: row.result,
  error: row.error,
  createdBy: row.created_by,
  createdAt: Number(row.created_at),
  startedAt: numberOrNull(row.started_at),
  updatedAt: Number(row.updated_at),
  finishedAt: numberOrNull(row.finished_at),
});

/** One task; undefined where there is none. */
export async function readTask(db: Db, id: bigint): Promise<TaskView | undefined> {
  const { rows } = await run<ViewRow>(db, `${VIEW} where task.id = $1`, [id]);
  return rows[0] === undefined ? undefined : viewOf(rows[0]);
}

/** Which tasks are meant; what is undefined does not narrow. */
export interface TaskFilter {
  readonly siteId?: bigint | undefined;
  readonly kind?: string | undefined;
  readonly state?: TaskState | undefined;
}

/** Reads a page of tasks, newest first, those with ids below `before`. */
export async function listTasks(
  db: Db,
  filter: TaskFilter,
  page: { readonly before: bigint | undefined; readonly limit: number },
): Promise<TaskView[]> {
  const { rows } = await run<ViewRow>(
    db,
    `${VIEW} where ($1::bigint is null or task.site_id = $1::bigint) and ($2::text is null or task.kind = $2::text)
       and ($3::text is null or task.state = $3::text) and ($4::bigint is null or task.id < $4::bigint)
     order by task.id desc limit $5`,
    [
      filter.siteId ?? null,
      filter.kind ?? null,
      filter.state ?? null,
      page.before ?? null,
      page.limit,
    ],
  );
  return rows.map(viewOf);
}
