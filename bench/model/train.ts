import { setTimeout as sleep } from 'node:timers/promises';
import { TRAIN, trainInput } from '../../contract/training.ts';
import { createOrm } from '../../entities/orm.ts';
import { createBoss } from '../../jobs/queues.ts';
import { startTask, TaskRunner } from '../../jobs/tasks.ts';
import { createTrainHandler } from '../../jobs/train/train-model.ts';
import type { Clock } from '../../ledger/clock.ts';
import type { Db } from '../../ledger/database.ts';
import type { JsonValue } from '../../ledger/operator-events.ts';
import { readTask } from '../../ledger/tasks.ts';
import type { BoostSettings } from '../../risk/model/boost.ts';

/** Between two looks at a task, ms. */
const LOOK_MS = 500;

/** A training of one Site. */
export interface TrainingOptions {
  /** The application's role. Never print it. */
  readonly appUrl: string;
  readonly siteId: bigint;
  /** Its instant is that of the order. */
  readonly clock: Clock;
  /** How a model is learned; the service's own settings unless given. */
  readonly learning?: BoostSettings;
  /** Gets the share that is done, 0 to 1. */
  readonly onTraining: (share: number) => void;
}

/** Learns a model by the service's own task, in this process. Answers the task's result: `model_id`, null without one. */
export async function trainSite(options: TrainingOptions): Promise<JsonValue> {
  const { appUrl, siteId, clock, learning, onTraining } = options;
  const orm = createOrm({
    url: appUrl,
    poolSize: 2,
    applicationName: 'bench training',
    statementTimeoutMs: 60_000,
  });
  const boss = createBoss({
    url: appUrl,
    backend: 'postgres',
    applicationName: 'bench queue',
    supervise: false,
    migrate: false,
    onError: (error) => process.stderr.write(`${error.name}\n`),
  });
  await boss.start();
  const transaction = <T>(work: (db: Db) => Promise<T>): Promise<T> =>
    orm.em.fork().transactional((em) => work(em.getKysely()));
  const runner = new TaskRunner({
    boss,
    transaction,
    clock,
    handlers: {
      [TRAIN]: createTrainHandler({
        appUrl,
        clock,
        ...(learning === undefined ? {} : { learning }),
      }),
    },
    onFault: (error) => process.stderr.write(`${String(error)}\n`),
  });
  try {
    const at = clock.now();
    const taskId = await transaction((db) =>
      startTask(boss, db, { kind: TRAIN, siteId, input: trainInput(at), by: 'bench', at }),
    );
    runner.start();
    for (;;) {
      await sleep(LOOK_MS);
      const task = await transaction((db) => readTask(db, taskId));
      onTraining((task?.done ?? 0) / 100);
      if (task?.state === 'FAILED') throw new Error(task.error ?? 'the training failed');
      if (task?.state === 'DONE') return task.result;
    }
  } finally {
    await runner.stop();
    await boss.stop({ graceful: false, close: true });
    await orm.close(true);
  }
}
