import { fromKysely, type PgBoss } from 'pg-boss';
import { EvaluateJob } from '../contract/jobs.ts';
import type { Clock } from '../ledger/clock.ts';
import { openDeadLetter } from '../ledger/failed-attempts.ts';
import type { Transaction } from '../ledger/transactions.ts';
import { Loop } from './loop.ts';
import { EVALUATE_DEAD } from './queues.ts';

/** Wait between looks, ms: these jobs come only after a hundred lost claims. */
const POLL_MS = 2_000;

/** What is needed to take over what pg-boss gave up on. */
export interface DeadLetterOptions {
  readonly boss: PgBoss;
  readonly transaction: Transaction;
  readonly clock: Clock;
  readonly onDead: () => void;
  readonly onFault: (error: unknown) => void;
}

/**
 * Turns what pg-boss gave up on by itself (a job whose claims were all lost; no code of ours runs then) into our own
 * dead letters, which the queue's retention cannot expire.
 */
export function createDeadLetterLoop(options: DeadLetterOptions): Loop {
  return new Loop({
    everyMs: POLL_MS,
    work: () => takeOverDeadJobs(options),
    onFault: options.onFault,
  });
}

/** Settles what waits in the dead-letter queue now, up to a hundred jobs; returns how many. */
export async function takeOverDeadJobs(options: DeadLetterOptions): Promise<number> {
  const { boss, clock, transaction, onDead } = options;
  const jobs = await boss.fetch<unknown>(EVALUATE_DEAD, { batchSize: 100, includeMetadata: true });
  for (const job of jobs) {
    const data = EvaluateJob.safeParse(job.data);
    const opened = await transaction(async (db) => {
      const done = data.success
        ? await openDeadLetter(
            db,
            { siteId: BigInt(data.data.site_id), ingestionId: BigInt(data.data.ingestion_id) },
            { cause: 'WorkerLost', attempts: 0, deadAt: clock.now() },
          )
        : false;
      await boss.complete(EVALUATE_DEAD, [job], null, { db: fromKysely(db) });
      return done;
    });
    if (opened) onDead();
  }
  return jobs.length;
}
