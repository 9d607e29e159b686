import { fromKysely, type PgBoss } from 'pg-boss';
import { EvaluateJob } from '../contract/jobs.ts';
import type { Clock } from '../ledger/clock.ts';
import type { Db } from '../ledger/database.ts';
import { openDeadLetter } from '../ledger/failed-attempts.ts';
import type { LedgerRef } from '../ledger/load-batch.ts';
import type { Transaction } from '../ledger/transactions.ts';
import type { GaveUp } from './evaluation-lane.ts';
import { Loop } from './loop.ts';
import { EVALUATE_DEAD } from './queues.ts';

/** Wait between looks, ms: these jobs come only after a hundred lost claims. */
const POLL_MS = 2_000;

/** What is needed to take over what pg-boss gave up on. */
export interface DeadLetterOptions {
  readonly boss: PgBoss;
  readonly transaction: Transaction;
  readonly clock: Clock;
  readonly gaveUp: GaveUp;
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
  const { boss, clock, gaveUp, transaction, onDead } = options;
  const giveUp = async (db: Db, ref: LedgerRef): Promise<boolean> => {
    const now = clock.now();
    const letter = { cause: 'WorkerLost', attempts: 0, deadAt: now };
    const opened = await openDeadLetter(db, ref, letter);
    if (opened) await gaveUp(db, ref, now);
    return opened;
  };
  const jobs = await boss.fetch<unknown>(EVALUATE_DEAD, { batchSize: 100, includeMetadata: true });
  for (const job of jobs) {
    const data = EvaluateJob.safeParse(job.data);
    const opened = await transaction(async (db) => {
      const done = data.success && (await giveUp(db, refOf(data.data)));
      await boss.complete(EVALUATE_DEAD, [job], null, { db: fromKysely(db) });
      return done;
    });
    if (opened) onDead();
  }
  return jobs.length;
}

const refOf = (data: EvaluateJob): LedgerRef => ({
  siteId: BigInt(data.site_id),
  ingestionId: BigInt(data.ingestion_id),
});
