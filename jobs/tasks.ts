import { setTimeout as sleep } from 'node:timers/promises';
import { fromKysely, type Job, type PgBoss } from 'pg-boss';
import { TaskJob } from '../contract/jobs.ts';
import type { Clock } from '../ledger/clock.ts';
import type { Db } from '../ledger/database.ts';
import { failureKind } from '../ledger/failures.ts';
import { raiseOperatorEvent, type JsonValue } from '../ledger/operator-events.ts';
import {
  beginTask,
  createTask,
  endTask,
  holdsTask,
  saveProgress,
  TaskStopped,
  type NewTask,
  type RunningTask,
  type TaskEnd,
  type TaskProgress,
} from '../ledger/tasks.ts';
import type { Transaction } from '../ledger/transactions.ts';
import { attemptErrorOf } from './attempt-error.ts';
import { TASK } from './queues.ts';

/** Wait between looks at an empty queue, ms; what this very process queues wakes the runner at once. */
const POLL_MS = 1_000;

/** How often a running task tells the queue that it is alive, ms; the queue gives it away after 30 s of silence. */
const ALIVE_MS = 5_000;

/** Tasks that run at once in one process: a long training must not keep a redrive waiting. */
const AT_ONCE = 4;

/** Starts in a row that achieved nothing before a task is given up: it probably takes its worker down each time. */
const FRUITLESS_STARTS = 5;

type Claim = Job<unknown> & { readonly retryCount: number };

/** What a handler may use while it works. */
export interface TaskRun {
  /**
   * Keeps how far it got. Given the `db` of the transaction that did the work, both are kept or neither, so that the
   * next start, which gets `position` back, repeats nothing. Without it a transaction of its own is used.
   *
   * @throws TaskStopped when the task was canceled or given to another worker; let it pass
   */
  readonly progress: (progress: TaskProgress, db?: Db) => Promise<void>;
  /** Runs work in one transaction of the application's role. */
  readonly transaction: Transaction;
  /** Aborted when the task was canceled or the process stops: return or throw soon; it is begun again elsewhere. */
  readonly signal: AbortSignal;
}

/**
 * Does one kind of long work and returns its result, which operators see. It is called again after a crash, a stop or
 * an outage, with what `progress` kept.
 *
 * @throws TaskRefused with a sentence for people when it cannot be done; anything else ends the task by its class and
 *   place, except an outage of the database, after which it is begun again
 */
export type TaskHandler = (task: RunningTask, run: TaskRun) => Promise<JsonValue>;

/** The task cannot be done; the message is shown to operators, so it holds nothing of a payload. */
export class TaskRefused extends Error {
  override name = 'TaskRefused';
}

/** Queues long work in the caller's transaction: row and job, or neither. Returns the task's id. */
export async function startTask(boss: PgBoss, db: Db, task: NewTask): Promise<bigint> {
  const id = await createTask(db, task);
  const job: TaskJob = { task_id: String(id) };
  const inserted = await boss.insert(TASK, [{ data: job }], {
    db: fromKysely(db),
    returnId: true,
  });
  if (inserted?.length !== 1) throw new Error('a task without its job');
  return id;
}

/** What the runner works with. */
export interface TaskRunnerOptions {
  readonly boss: PgBoss;
  readonly transaction: Transaction;
  readonly clock: Clock;
  /** One handler for each kind. */
  readonly handlers: Readonly<Record<string, TaskHandler>>;
  readonly onFault: (error: unknown) => void;
}

/** Runs queued tasks, a few at once, each by the handler of its kind. */
export class TaskRunner {
  readonly #options: TaskRunnerOptions;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #wake = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(options: TaskRunnerOptions) {
    this.#options = options;
  }

  /** Begins to take tasks. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Looks at the queue now instead of at the next poll. */
  wake(): void {
    this.#wake.abort();
  }

  /** Asks running tasks to stop, waits for them and gives them back to the queue. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake.abort();
    await this.#loop;
    await Promise.all(this.#running);
  }

  async #run(): Promise<void> {
    const { boss, onFault } = this.#options;
    while (!this.#stopping.signal.aborted) {
      this.#wake = new AbortController();
      try {
        const free = AT_ONCE - this.#running.size;
        const jobs = free > 0 ? await boss.fetch<unknown>(TASK, { batchSize: free }) : [];
        for (const job of jobs as Claim[]) this.#begin(job);
      } catch (error: unknown) {
        if (failureKind(error) === 'unforeseen') onFault(error);
      }
      const signal = AbortSignal.any([this.#stopping.signal, this.#wake.signal]);
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #begin(job: Claim): void {
    const run = this.#take(job)
      .catch((error: unknown) => {
        // The claim runs out by itself, and another start goes on.
        if (failureKind(error) === 'unforeseen') this.#options.onFault(error);
      })
      .finally(() => {
        this.#running.delete(run);
        this.wake();
      });
    this.#running.add(run);
  }

  async #take(job: Claim): Promise<void> {
    const { boss, clock, handlers, transaction } = this.#options;
    const data = TaskJob.safeParse(job.data);
    const task = data.success
      ? await transaction((db) => beginTask(db, BigInt(data.data.task_id), clock.now()))
      : undefined;
    if (task === undefined) {
      await boss.complete(TASK, [job], { refused: 'no task to do' });
      return;
    }
    const handler = handlers[task.kind];
    if (handler === undefined) {
      // A newer process queued it: left for one that knows it.
      await this.#settle(job, task, { state: 'QUEUED' });
      return;
    }
    await this.#settle(job, task, await this.#handle(handler, job, task));
  }

  async #handle(handler: TaskHandler, job: Claim, task: RunningTask): Promise<TaskEnd> {
    const { clock, onFault, transaction } = this.#options;
    if (task.fruitlessStarts > FRUITLESS_STARTS) {
      return {
        state: 'FAILED',
        error: `Given up after ${FRUITLESS_STARTS} starts that achieved nothing.`,
      };
    }
    const lost = new AbortController();
    const alive = setInterval(() => void this.#keepAlive(job, task, lost), ALIVE_MS);
    try {
      const result = await handler(task, {
        progress: (progress, db) =>
          db === undefined
            ? transaction((own) => saveProgress(own, task, progress, clock.now()))
            : saveProgress(db, task, progress, clock.now()),
        transaction,
        signal: AbortSignal.any([this.#stopping.signal, lost.signal]),
      });
      return { state: 'DONE', result };
    } catch (error: unknown) {
      if (error instanceof TaskRefused) return { state: 'FAILED', error: error.message };
      const outage = failureKind(error) !== 'unforeseen' && failureKind(error) !== 'refused-data';
      // A handler that was asked to stop may say so in any way it likes.
      if (outage || this.#stopping.signal.aborted || error instanceof TaskStopped) {
        return { state: 'QUEUED' };
      }
      onFault(error);
      const { errorClass, errorPlace } = attemptErrorOf(error);
      return { state: 'FAILED', error: `${errorClass} at ${errorPlace}` };
    } finally {
      clearInterval(alive);
    }
  }

  async #keepAlive(job: Claim, task: RunningTask, lost: AbortController): Promise<void> {
    const { boss, transaction } = this.#options;
    try {
      const { affected } = (await boss.touch(TASK, [job])) as { affected?: number };
      if (affected === 0 || !(await transaction((db) => holdsTask(db, task)))) lost.abort();
    } catch {
      // An outage says nothing about the claim: the next look decides.
    }
  }

  /** Task and job end in one transaction; a canceled task's job is simply done. */
  async #settle(job: Claim, task: RunningTask, end: TaskEnd): Promise<void> {
    const { boss, clock, transaction } = this.#options;
    await transaction(async (db) => {
      const at = clock.now();
      const held = await endTask(db, task, end, at);
      const again = held && end.state === 'QUEUED';
      const settle = again ? boss.fail.bind(boss) : boss.complete.bind(boss);
      await settle(TASK, [job], { task: held ? end.state : 'not held' }, { db: fromKysely(db) });
      if (held && end.state === 'FAILED') {
        await raiseOperatorEvent(db, {
          siteId: task.siteId,
          kind: 'task_failed',
          subject: `task ${task.id}`,
          detail: { task_kind: task.kind, error: end.error },
          at,
        });
      }
    });
  }
}
