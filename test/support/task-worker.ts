import { createOrm } from '../../entities/orm.ts';
import { requeueEvaluations } from '../../jobs/enqueue.ts';
import { createBoss } from '../../jobs/queues.ts';
import { redriveTask } from '../../jobs/redrive.ts';
import { TaskRunner } from '../../jobs/tasks.ts';
import { systemClock } from '../../ledger/clock.ts';

/** A process that runs tasks and nothing else, for tests that kill it. Argument: the application's database URL. */
const url = process.argv[2] ?? '';
const orm = createOrm({
  url,
  poolSize: 2,
  applicationName: 'test task worker',
  statementTimeoutMs: 10_000,
});
const boss = createBoss({
  url,
  backend: 'postgres',
  applicationName: 'test task worker queue',
  supervise: false,
  migrate: false,
  onError: () => undefined,
});
await boss.start();
new TaskRunner({
  boss,
  transaction: (work) => orm.em.fork().transactional((em) => work(em.getKysely())),
  clock: systemClock,
  handlers: {
    'dead_letters.redrive': redriveTask({
      requeue: (db, refs) => requeueEvaluations(boss, db, refs),
      clock: systemClock,
    }),
  },
  onFault: (error) => {
    throw error instanceof Error ? error : new Error('fault');
  },
}).start();
