import { ingestionIdOf } from '../contract/primitives.ts';
import type { Clock } from '../ledger/clock.ts';
import { run, type Db } from '../ledger/database.ts';
import type { LedgerRef } from '../ledger/load-batch.ts';
import {
  createPartitions,
  dropExpiredPartitions,
  type RetentionDays,
} from '../ledger/partitions.ts';
import { raiseOperatorEvent } from '../ledger/operator-events.ts';
import { deleteExpired, findExpiringSites, noteExpired } from '../ledger/site-retention.ts';
import { findLost, readWatermark, writeWatermark } from '../ledger/sweep.ts';
import type { Transaction } from '../ledger/transactions.ts';
import { Loop } from './loop.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Rows of a table deleted in one transaction: some milliseconds, and no lock that anybody waits for. */
const DELETED_AT_ONCE = 1_000;

/** Such transactions in one pass, so that a Site that is shortened by a year does not hold up the rest of upkeep. */
const DELETIONS_OF_A_PASS = 100;

/** Days of partitions kept ready. */
const DAYS_AHEAD = 7;

/** Longest that an insert may have to wait behind a change of partitions, ms. */
const TABLE_PATIENCE_MS = 500;

/** SQLSTATE lock_not_available. */
const LOCK_TIMEOUT = '55P03';

/** Rows younger than this are left alone: their commit or their job may still be on its way. */
const SWEEP_LAG_MS = 2 * MINUTE_MS;

/** How far back the very first sweep looks. */
const FIRST_SWEEP_MS = 60 * MINUTE_MS;

/** What upkeep works with; the transactions are the owning role's, since partitions are its. */
export interface UpkeepOptions {
  readonly transaction: Transaction;
  readonly requeue: (db: Db, refs: readonly LedgerRef[]) => Promise<number>;
  readonly clock: Clock;
  readonly retention: RetentionDays;
  readonly onRequeued: (count: number) => void;
  readonly onFault: (error: unknown) => void;
}

/** Keeps partitions ready, drops expired ones and finds what nobody will evaluate; once a minute. Safe in many processes. */
export function createUpkeepLoop(options: UpkeepOptions): Loop {
  return new Loop({
    everyMs: MINUTE_MS,
    async work(signal) {
      await keepPartitions(options);
      await expirePayloadsOfSites(options, signal);
      await sweep(options, signal);
    },
    onFault: options.onFault,
  });
}

/**
 * Creates the coming days' partitions and drops those past retention. Whoever reads a table for long (a backup) holds it
 * against both, and every insert would queue behind the wait: it is given up at once and tried again in a minute, which
 * it may be for days.
 */
export async function keepPartitions(options: UpkeepOptions): Promise<void> {
  const now = options.clock.now();
  try {
    await options.transaction(async (db) => {
      await run(db, `set local lock_timeout = '${TABLE_PATIENCE_MS}ms'`);
      await createPartitions(db, now, DAYS_AHEAD);
      await dropExpiredPartitions(db, now, options.retention);
    });
  } catch (error: unknown) {
    if (!isLockTimeout(error)) throw error;
  }
}

/**
 * Deletes what Sites with a retention of their own keep no longer, in small transactions, a day after the other; a day is
 * noted when nothing of it is left. What a pass does not get to is left for the next.
 */
export async function expirePayloadsOfSites(
  { clock, retention, transaction }: UpkeepOptions,
  signal?: AbortSignal,
): Promise<void> {
  let left = DELETIONS_OF_A_PASS;
  const sites = await transaction((db) => findExpiringSites(db, clock.now(), retention.payloads));
  for (const { from, siteId, until } of sites) {
    for (let day = from; day < until; day += DAY_MS) {
      for (let more = true; more; left -= 1) {
        if (left === 0 || signal?.aborted === true) return;
        more = await transaction((db) => deleteExpired(db, siteId, day, DELETED_AT_ONCE));
      }
      await transaction((db) => noteExpired(db, siteId, day + DAY_MS));
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && at.code === LOCK_TIMEOUT) return true;
  }
  return false;
}

/**
 * Queues lost ledger rows again, from the watermark to two minutes ago, in slices of their own transaction; returns how
 * many there were.
 */
export async function sweep(options: UpkeepOptions, signal?: AbortSignal): Promise<number> {
  const until = options.clock.now() - SWEEP_LAG_MS;
  let found = 0;
  let first: LedgerRef | undefined;
  let done = false;
  while (!done) {
    const sweptTo = await options.transaction(async (db) => {
      const from = (await readWatermark(db)) ?? until - FIRST_SWEEP_MS;
      if (from >= until) return until;
      const pass = await findLost(db, from, until);
      await options.requeue(db, pass.lost);
      await writeWatermark(db, pass.sweptTo);
      found += pass.lost.length;
      first ??= pass.lost[0];
      return pass.sweptTo;
    });
    done = sweptTo >= until || signal?.aborted === true;
  }
  if (first !== undefined) {
    const detail = { count: found, first: ingestionIdOf(first.ingestionId) };
    const at = options.clock.now();
    await options.transaction((db) =>
      raiseOperatorEvent(db, { kind: 'ledger_rows_requeued', subject: 'sweeper', detail, at }),
    );
    options.onRequeued(found);
  }
  return found;
}
