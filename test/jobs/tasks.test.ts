import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { PgBoss } from 'pg-boss';
import { requeueEvaluations } from '../../jobs/enqueue.ts';
import { createBoss, TASK } from '../../jobs/queues.ts';
import { redriveTask } from '../../jobs/redrive.ts';
import { startTask, TaskRefused, TaskRunner, type TaskHandler } from '../../jobs/tasks.ts';
import { run } from '../../ledger/database.ts';
import { cancelTask, readTask, TaskStopped, type TaskView } from '../../ledger/tasks.ts';
import {
  createPipelinedTransactions,
  type PipelinedTransactions,
} from '../../ledger/transactions.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const NOW = Date.UTC(2026, 8, 1, 12);
const clock = { now: (): number => NOW };

describe('long work', () => {
  let database: TestDatabase;
  let boss: PgBoss;
  let pipelined: PipelinedTransactions;
  const faults: unknown[] = [];

  before(async () => {
    database = await createTestDatabase();
    pipelined = createPipelinedTransactions({
      url: database.appUrl,
      poolSize: 4,
      applicationName: 'test',
      statementTimeoutMs: 10_000,
    });
    boss = createBoss({
      url: database.ownerUrl,
      backend: 'postgres',
      applicationName: 'test queue',
      supervise: false,
      migrate: false,
      onError: () => undefined,
    });
    await boss.start();
    await database.query('create table worked (task bigint, item int)');
    await database.query('grant all on worked to public');
  });

  after(async () => {
    await boss.stop({ graceful: false });
    await pipelined.close();
    await database.drop();
  });

  const runnerOf = (handler: TaskHandler): TaskRunner =>
    new TaskRunner({
      boss,
      transaction: pipelined.transaction,
      clock,
      handlers: { test: handler, 'dead_letters.redrive': redrive },
      onFault: (error) => faults.push(error),
    });

  const redrive = redriveTask({
    requeue: (db, refs) => requeueEvaluations(boss, db, refs),
    clock,
  });

  const begin = (kind = 'test', input: object = {}): Promise<bigint> =>
    pipelined.transaction((db) =>
      startTask(boss, db, { kind, siteId: 0n, input: { ...input }, by: 'ann', at: NOW }),
    );

  const view = async (id: bigint): Promise<TaskView> => {
    const task = await pipelined.transaction((db) => readTask(db, id));
    if (task === undefined) throw new Error(`no task ${id}`);
    return task;
  };

  async function until(id: bigint, wanted: (task: TaskView) => boolean): Promise<TaskView> {
    const deadline = performance.now() + 30_000;
    for (;;) {
      const task = await view(id);
      if (wanted(task)) return task;
      if (performance.now() > deadline) throw new Error(`task ${id} is ${task.state}`);
      await sleep(5);
    }
  }

  const ended = (task: TaskView): boolean => task.finishedAt !== null;

  /** What time would do: the queue notices the silence, and the wait before the next start is over. */
  async function passTime(): Promise<void> {
    await database.query(
      `update pgboss.job set heartbeat_on = now() - interval '1 minute' where name = $1 and state = 'active'`,
      [TASK],
    );
    await database.query('update pgboss.queue set monitor_claim_on = null, monitor_on = null');
    await boss.supervise(TASK);
    await endWait();
  }

  const endWait = (): Promise<unknown> =>
    database.query(`update pgboss.job set start_after = now() where name = $1`, [TASK]);

  /** Counts to ten, one transaction each; calls `between` after each step. */
  const counting =
    (between: (item: number, signal: AbortSignal) => Promise<void> | void): TaskHandler =>
    async (task, { progress, signal, transaction }) => {
      let item = typeof task.position === 'number' ? task.position : 0;
      while (item < 10) {
        signal.throwIfAborted();
        item += 1;
        const at = item;
        await transaction(async (db) => {
          await run(db, 'insert into worked values ($1, $2)', [task.id, at]);
          await progress({ done: at, total: 10, position: at }, db);
        });
        await between(at, signal);
      }
      return { counted: item };
    };

  const workedOf = async (id: bigint): Promise<number[]> =>
    (
      await database.query<{ item: number }>('select item from worked where task = $1 order by 1', [
        id,
      ])
    ).map(({ item }) => item);

  const TEN = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

  it('shows how far it is and what came of it', async () => {
    const id = await begin('test', { about: 'this' });
    expect(await view(id)).to.deep.include({
      state: 'QUEUED',
      input: { about: 'this' },
      done: 0,
      total: null,
      createdBy: 'ann',
    });
    const seen: (number | null)[] = [];
    const runner = runnerOf(
      counting(async () => {
        const { done, total, state } = await view(id);
        expect(state).to.equal('RUNNING');
        seen.push(done, total);
      }),
    );
    runner.start();
    const task = await until(id, ended);
    await runner.stop();
    expect(seen.slice(0, 4)).to.deep.equal([1, 10, 2, 10]);
    expect(task).to.deep.include({
      state: 'DONE',
      result: { counted: 10 },
      finishedAt: NOW,
      error: null,
    });
  });

  it('a stop gives it back, and the next start goes on where it was', async () => {
    const id = await begin();
    const first = runnerOf(
      counting((item, signal) =>
        item === 4
          ? new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
          : undefined,
      ),
    );
    first.start();
    await until(id, ({ done }) => done === 4);
    await first.stop();
    expect(await view(id)).to.deep.include({ state: 'QUEUED', done: 4 });
    await endWait();
    const second = runnerOf(counting(() => undefined));
    second.start();
    expect(await until(id, ended)).to.deep.include({ state: 'DONE', done: 10 });
    await second.stop();
    expect(await workedOf(id)).to.deep.equal(TEN);
  });

  it('a start that was thought dead keeps nothing more once another has taken over', async () => {
    const id = await begin();
    let release: () => void = () => undefined;
    const stuck = new Promise<void>((resolve) => (release = resolve));
    let outcome: unknown;
    const first = runnerOf(async (task, tools) => {
      try {
        return await counting((item) => (item === 3 ? stuck : undefined))(task, tools);
      } catch (error: unknown) {
        outcome = error;
        throw error;
      }
    });
    first.start();
    await until(id, ({ done }) => done === 3);
    const stopping = first.stop();
    await passTime();
    const second = runnerOf(counting(() => undefined));
    second.start();
    expect(await until(id, ended)).to.deep.include({ state: 'DONE', done: 10 });
    release();
    await stopping;
    await second.stop();
    expect((outcome as Error).name).to.be.oneOf([TaskStopped.name, 'AbortError']);
    expect(await workedOf(id)).to.deep.equal(TEN);
    expect(await view(id)).to.deep.include({ state: 'DONE', result: { counted: 10 } });
  });

  it('a canceled one stops at its next step; what it did stays', async () => {
    const id = await begin();
    const runner = runnerOf(
      counting(async (item) => {
        if (item === 5) await pipelined.transaction((db) => cancelTask(db, id, NOW));
      }),
    );
    runner.start();
    await until(id, ended);
    await runner.stop();
    expect(await view(id)).to.deep.include({ state: 'CANCELED', done: 5, result: null });
    expect(await workedOf(id)).to.deep.equal([1, 2, 3, 4, 5]);
    const jobs = await database.query(
      `select 1 from pgboss.job where name = $1 and state < 'completed'`,
      [TASK],
    );
    expect(jobs).to.deep.equal([]);
  });

  it('a refusal is shown in its words; any other error by class and place, never by its text', async () => {
    const refused = await begin();
    const one = runnerOf(() => Promise.reject(new TaskRefused('There is nothing to train from.')));
    one.start();
    expect(await until(refused, ended)).to.deep.include({
      state: 'FAILED',
      error: 'There is nothing to train from.',
    });
    await one.stop();
    expect(faults.splice(0)).to.deep.equal([]);
    const failed = await begin();
    const two = runnerOf(() => Promise.reject(new RangeError('amount 4711 of tok_secret')));
    two.start();
    const { error } = await until(failed, ended);
    await two.stop();
    expect(error)
      .to.match(/^RangeError at /)
      .and.to.not.include('4711');
    expect(faults.splice(0)).to.have.length(1);
    const events = await database.query<{ subject: string; detail: { error: string } }>(
      `select subject, detail from operator_event where kind = 'task_failed' order by id`,
    );
    expect(events.map(({ subject }) => subject)).to.deep.equal([
      `task ${refused}`,
      `task ${failed}`,
    ]);
    expect(events[1]?.detail.error).to.equal(error);
  });

  it('one that takes its worker down each time is given up after five starts without progress', async () => {
    const id = await begin();
    await database.query('update task set fruitless_starts = 5 where id = $1', [id]);
    const runner = runnerOf(counting(() => undefined));
    runner.start();
    expect(await until(id, ended)).to.deep.include({
      state: 'FAILED',
      error: 'Given up after 5 starts that achieved nothing.',
    });
    await runner.stop();
    expect(await workedOf(id)).to.deep.equal([]);
  });

  it('of a kind that only a newer process knows waits for that one', async () => {
    const id = await begin('newer.kind');
    const runner = runnerOf(counting(() => undefined));
    runner.start();
    await sleep(200);
    await runner.stop();
    expect(await view(id)).to.deep.include({ state: 'QUEUED', error: null });
    await pipelined.transaction((db) => cancelTask(db, id, NOW));
  });

  it('a bulk redrive that is killed in the middle goes on elsewhere: each dead letter once', async () => {
    const count = 6_000;
    await database.query(
      `with letter as (
         insert into dead_letter (site_id, ingestion_id, cause, attempts, dead_at)
         select 1, n, 'Gone', 6, $2 from generate_series(1, $1::int) n returning *)
       insert into open_dead_letter (site_id, ingestion_id, dead_letter_id, cause, attempts, dead_at)
       select site_id, ingestion_id, id, cause, attempts, dead_at from letter`,
      [count, new Date(NOW)],
    );
    const id = await begin('dead_letters.redrive', {
      site_id: '1',
      cause: 'Gone',
      from: null,
      to: NOW + 1,
      reason: 'repaired',
    });
    const worker = spawn(
      process.execPath,
      [join(import.meta.dirname, '../support/task-worker.ts'), database.appUrl],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
    const gone = new Promise((resolve) => worker.once('exit', resolve));
    await until(id, ({ done }) => done > 0);
    worker.kill('SIGKILL');
    await gone;
    const { done, state } = await view(id);
    expect(state).to.equal('RUNNING');
    expect(done).to.be.within(500, count - 1);
    await passTime();
    const runner = runnerOf(counting(() => undefined));
    runner.start();
    expect(await until(id, ended)).to.deep.include({
      state: 'DONE',
      done: count,
      result: { redriven: count },
    });
    await runner.stop();
    const [sums] = await database.query(
      `select (select count(*)::int from dead_letter_resolution where kind = 'REDRIVEN') as resolved,
         (select count(*)::int from open_dead_letter) as open,
         (select count(*)::int from pgboss.job where name = 'evaluate' and state = 'created') as jobs`,
    );
    expect(sums).to.deep.equal({ resolved: count, open: 0, jobs: count });
  });
});
