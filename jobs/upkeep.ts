import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../ledger/clock.ts';
import type { Db } from '../ledger/database.ts';
import { failureKind } from '../ledger/failures.ts';
import type { LedgerRef } from '../ledger/load-batch.ts';
import { createPartitions, dropExpiredPartitions } from '../ledger/partitions.ts';
import { findLost, readWatermark, writeWatermark } from '../ledger/sweep.ts';
import type { Transaction } from '../ledger/transactions.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Days of partitions kept ready. */
const DAYS_AHEAD = 7;

/** Rows younger than this are left alone: their commit or their job may still be on its way. */
const SWEEP_LAG_MS = 2 * MINUTE_MS;

/** How far back the very first sweep looks. */
const FIRST_SWEEP_MS = 60 * MINUTE_MS;

/** What upkeep works with; the transactions are the owning role's, since partitions are its. */
export interface UpkeepOptions {
  readonly transaction: Transaction;
  readonly requeue: (db: Db, refs: readonly LedgerRef[]) => Promise<number>;
  readonly clock: Clock;
  readonly retentionDays: number;
  readonly onRequeued: (count: number) => void;
  readonly onFault: (error: unknown) => void;
}

/** Keeps partitions ready, drops expired ones and finds what nobody will evaluate; once a minute. Safe in many processes. */
export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #stopping = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(options: UpkeepOptions) {
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
      await sleep(MINUTE_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.keepPartitions();
        await this.sweep();
      } catch (error: unknown) {
        if (failureKind(error) === 'unforeseen') this.#options.onFault(error);
      }
    }
  }

  /** Creates the coming days' partitions and drops those past retention. */
  async keepPartitions(): Promise<void> {
    const { clock, retentionDays, transaction } = this.#options;
    const now = clock.now();
    await transaction(async (db) => {
      await createPartitions(db, now, DAYS_AHEAD);
      await dropExpiredPartitions(db, now - retentionDays * DAY_MS);
    });
  }

  /** Queues lost rows again; returns how many there were. */
  async sweep(): Promise<number> {
    const { clock, requeue, transaction, onRequeued } = this.#options;
    const until = clock.now() - SWEEP_LAG_MS;
    let found = 0;
    for (let sweptTo = 0; sweptTo < until && !this.#stopping.signal.aborted;) {
      sweptTo = await transaction(async (db) => {
        const from = (await readWatermark(db)) ?? until - FIRST_SWEEP_MS;
        if (from >= until) return until;
        const pass = await findLost(db, from, until);
        await requeue(db, pass.lost);
        await writeWatermark(db, pass.sweptTo);
        found += pass.lost.length;
        return pass.sweptTo;
      });
    }
    if (found > 0) onRequeued(found);
    return found;
  }
}
