import { setTimeout as sleep } from 'node:timers/promises';
import { fromKysely, type PgBoss } from 'pg-boss';
import { EvaluateJob } from '../contract/jobs.ts';
import type { Clock } from '../ledger/clock.ts';
import { openDeadLetter } from '../ledger/failed-attempts.ts';
import { failureKind } from '../ledger/failures.ts';
import type { Transaction } from '../ledger/transactions.ts';
import { EVALUATE_DEAD } from './queues.ts';

/** Wait between looks, ms: these jobs come only after a hundred lost claims. */
const POLL_MS = 2_000;

/** What the worker works with. */
export interface DeadLetterWorkerOptions {
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
export class DeadLetterWorker {
  readonly #options: DeadLetterWorkerOptions;
  readonly #stopping = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(options: DeadLetterWorkerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.settleSome();
      } catch (error: unknown) {
        if (failureKind(error) === 'unforeseen') this.#options.onFault(error);
      }
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Settles what waits in the dead-letter queue now, up to a hundred jobs; returns how many. */
  async settleSome(): Promise<number> {
    const { boss, clock, transaction, onDead } = this.#options;
    const jobs = await boss.fetch<unknown>(EVALUATE_DEAD, {
      batchSize: 100,
      includeMetadata: true,
    });
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
}
