import type { Clock } from '../ledger/clock.ts';
import { countBacklog } from '../ledger/reports/count-backlog.ts';
import { rollUp } from '../ledger/reports/roll-up.ts';
import type { Transaction } from '../ledger/transactions.ts';
import { Loop } from './loop.ts';

const MINUTE_MS = 60_000;

/**
 * What is younger is left for the next pass: its commit may still be on its way. A submission is tried for a minute and a
 * half at most, and the clocks of several machines differ a little.
 */
const LAG_MS = 2 * MINUTE_MS;

/** Bounds of the span of one pass, ms. */
const SHORTEST_MS = 1_000;
const LONGEST_MS = 86_400_000;

/** Rows of one pass it is steered to: about half a second of the database's work. */
const MANY_ROWS = 100_000;
const FEW_ROWS = 25_000;

/** What the sums are made with. */
export interface ReportSumsOptions {
  readonly transaction: Transaction;
  readonly clock: Clock;
  readonly onFault: (error: unknown) => void;
}

/** Keeps the sums that reports are read from, once a minute. Safe in many processes: one of them does the work. */
export function createReportSumsLoop(options: ReportSumsOptions): Loop {
  return new Loop({
    everyMs: MINUTE_MS,
    work: (signal) => sumUp(options, signal),
    onFault: options.onFault,
  });
}

/**
 * Brings the sums up to two minutes ago, slice by slice, each in its own transaction; then counts the backlog. A slice is
 * made longer while there is little in it (years without traffic are over soon) and shorter while there is much.
 */
export async function sumUp(options: ReportSumsOptions, signal?: AbortSignal): Promise<void> {
  const { transaction, clock } = options;
  const until = clock.now() - LAG_MS;
  let span = MINUTE_MS;
  let done = false;
  while (!done) {
    const width = span;
    const pass = await transaction((db) => rollUp(db, until, width));
    const rows = pass?.rows ?? 0;
    if (rows > MANY_ROWS) span = Math.max(SHORTEST_MS, Math.floor(span / 2));
    else if (rows < FEW_ROWS) span = Math.min(LONGEST_MS, span * 2);
    done = pass === undefined || signal?.aborted === true;
  }
  await transaction((db) => countBacklog(db, clock.now()));
}
