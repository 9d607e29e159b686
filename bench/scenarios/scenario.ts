import type { BenchCluster, BenchDatabase } from '../cluster.ts';
import type { LoadOrder } from '../load/protocol.ts';
import { measure, type Measurement } from '../measure.ts';
import type { BenchOptions } from '../options.ts';
import type { Table } from '../report.ts';
import type { RunningWay, Way } from '../ways.ts';

/** What a scenario works with. */
export interface Bench {
  readonly cluster: BenchCluster;
  readonly options: BenchOptions;
  /** Says what is going on. */
  readonly tell: (line: string) => void;
}

/** Measures and reports. */
export type Scenario = (bench: Bench) => Promise<Table[]>;

/** Any number; fixed, so that every run sends the same events. */
export const SEED = 20_260;

/** An order with what all orders of a run share filled in. */
export function orderOf(
  bench: Bench,
  way: Pick<RunningWay, 'target'>,
  what: Pick<LoadOrder, 'traffic' | 'pace'> & Partial<Pick<LoadOrder, 'seconds' | 'warmUpSeconds'>>,
): LoadOrder {
  const { cluster, options } = bench;
  return {
    target: way.target,
    credentials: cluster.credentials,
    sites: cluster.sites,
    seed: SEED,
    seconds: options.seconds,
    warmUpSeconds: options.warmUpSeconds,
    ...what,
  };
}

/** Gives work a fresh database, dropped afterwards. */
export async function withDatabase<T>(
  bench: Bench,
  work: (database: BenchDatabase) => Promise<T>,
): Promise<T> {
  const database = await bench.cluster.clone();
  try {
    return await work(database);
  } finally {
    await database.drop();
  }
}

/** Gives work a started way, stopped afterwards. */
export async function withWay<T>(
  way: Way,
  database: BenchDatabase,
  work: (running: RunningWay) => Promise<T>,
): Promise<T> {
  const running = await way.start(database);
  try {
    return await work(running);
  } finally {
    await running.stop();
  }
}

/** The measurements of ways side by side: every round on fresh databases, the order turned round each time. */
export async function sideBySide<Each>(
  bench: Bench,
  ways: readonly Way[],
  each: (way: Way, running: RunningWay, database: BenchDatabase) => Promise<Each>,
): Promise<Map<Way, Each[]>> {
  const results = new Map<Way, Each[]>(ways.map((way) => [way, []]));
  const { rounds } = bench.options;
  for (let round = 1; round <= rounds; round += 1) {
    const order = round % 2 === 1 ? ways : ways.toReversed();
    for (const way of order) {
      if (way.once === true && round < rounds) continue;
      const result = await withDatabase(bench, (database) =>
        withWay(way, database, (running) => each(way, running, database)),
      );
      results.get(way)?.push(result);
      const rate =
        typeof result === 'object' && result !== null && 'perSecond' in result
          ? Number(result.perSecond)
          : Number.NaN;
      bench.tell(
        `round ${round}/${rounds}  ${way.name}${Number.isNaN(rate) ? '' : `: ${Math.round(rate)}/s`}`,
      );
    }
  }
  return results;
}

/** Ingest of new events at a pace, measured; the first of them is event `first`. */
export function measureIngest(
  bench: Bench,
  running: RunningWay,
  database: BenchDatabase,
  pace: LoadOrder['pace'],
  first = 0,
): Promise<Measurement> {
  const order = orderOf(bench, running, { traffic: { kind: 'ingest', first }, pace });
  return measure(bench.cluster, database, order, running.pid);
}
