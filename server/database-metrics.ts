import { Gauge } from 'prom-client';
import type { Pool } from 'pg';
import type { DatabaseState } from '../ledger/reports/queue-state.ts';
import type { Metrics } from './metrics.ts';

/** One look serves all values of a scrape, ms. */
const FRESH_MS = 1_000;

/** Longer than this a scrape does not wait for the database, ms. */
const PATIENCE_MS = 2_000;

/**
 * Adds what stands in the database, read when somebody scrapes. While it does not answer these values are left out and
 * `transaction_risk_database_up` is 0. Every process says the same, so that over several the largest counts, not the sum.
 */
export function registerDatabaseMetrics(
  metrics: Metrics,
  readState: () => Promise<DatabaseState>,
): void {
  let look: { readonly at: number; readonly state: Promise<DatabaseState | undefined> } | undefined;
  const state = (): Promise<DatabaseState | undefined> => {
    if (look === undefined || performance.now() - look.at > FRESH_MS) {
      look = { at: performance.now(), state: withPatience(readState()) };
    }
    return look.state;
  };
  const add = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    set: (gauge: Gauge<Label>, state: DatabaseState | undefined) => void,
    aggregator: 'max' | 'min' = 'max',
  ): void => {
    const gauge: Gauge<Label> = new Gauge({
      name: `transaction_risk_${name}`,
      help,
      labelNames: [...labelNames],
      aggregator,
      registers: [metrics.registry],
      async collect() {
        gauge.reset();
        set(gauge, await state());
      },
    });
  };
  add(
    'database_up',
    '1 while the database answers this process, 0 while not.',
    [],
    (gauge, found) => gauge.set(found === undefined ? 0 : 1),
    'min',
  );
  add(
    'jobs',
    'Jobs by queue and state: ready, deferred, active.',
    ['queue', 'state'],
    (gauge, found) => {
      for (const { name: queue, ready, deferred, active } of found?.queues ?? []) {
        gauge.set({ queue, state: 'ready' }, ready);
        gauge.set({ queue, state: 'deferred' }, deferred);
        gauge.set({ queue, state: 'active' }, active);
      }
    },
  );
  add(
    'jobs_counted_seconds_ago',
    'Age of those counts; grows while no worker is alive.',
    ['queue'],
    (gauge, found) => {
      for (const { name, countedSecondsAgo } of found?.queues ?? []) {
        gauge.set({ queue: name }, countedSecondsAgo);
      }
    },
  );
  add(
    'job_oldest_seconds',
    'How long the longest waiting job of a queue could have run already.',
    ['queue'],
    (gauge, found) => {
      for (const { name, oldestSeconds } of found?.queues ?? []) {
        gauge.set({ queue: name }, oldestSeconds);
      }
    },
  );
  add(
    'operator_events',
    'What operators were told of in the last hour, by kind; at most 100 of each are counted.',
    ['kind'],
    (gauge, found) => {
      for (const { kind, count } of found?.operatorEvents ?? []) gauge.set({ kind }, count);
    },
  );
  const single = (name: string, help: string, value: (found: DatabaseState) => number): void =>
    add(name, help, [], (gauge, found) => {
      if (found === undefined) gauge.remove();
      else gauge.set(value(found));
    });
  single(
    'dead_letters_open',
    'Dead letters nobody has redriven or discarded.',
    (found) => found.openDeadLetters,
  );
  single(
    'dead_letter_oldest_seconds',
    'Age of the oldest of them.',
    (found) => found.oldestDeadLetterSeconds,
  );
  single(
    'reports_behind_seconds',
    'How far the sums of the reports are behind.',
    (found) => found.reportsBehindSeconds,
  );
}

async function withPatience(work: Promise<DatabaseState>): Promise<DatabaseState | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), PATIENCE_MS);
  });
  try {
    return await Promise.race([work.catch(() => undefined), tooLong]);
  } finally {
    clearTimeout(timer);
  }
}

/** Adds how the connections of this process are used, by pool. */
export function registerPoolMetrics(metrics: Metrics, pools: ReadonlyMap<string, Pool>): void {
  const gauge: Gauge<'pool' | 'state'> = new Gauge({
    name: 'transaction_risk_pool_connections',
    help: 'Connections by pool and state: used, idle; waiting: those who wait for one.',
    labelNames: ['pool', 'state'],
    registers: [metrics.registry],
    collect() {
      for (const [pool, { totalCount, idleCount, waitingCount }] of pools) {
        gauge.set({ pool, state: 'used' }, totalCount - idleCount);
        gauge.set({ pool, state: 'idle' }, idleCount);
        gauge.set({ pool, state: 'waiting' }, waitingCount);
      }
    },
  });
}
