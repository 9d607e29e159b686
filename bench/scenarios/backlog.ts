import { setTimeout as sleep } from 'node:timers/promises';
import { withClient, type BenchDatabase } from '../cluster.ts';
import { runLoad } from '../load/index.ts';
import {
  busySecondsOfMachine,
  cpuSecondsOf,
  cpuSecondsOfTree,
  residentMegabytes,
} from '../processes.ts';
import { readServiceMetrics } from '../service-metrics.ts';
import { startService } from '../service-process.ts';
import { WAYS } from '../ways.ts';
import { orderOf, withWay, type Bench } from './scenario.ts';

/** Fills a database with events that wait for their evaluation; returns how many. */
export async function prepareBacklog(
  bench: Bench,
  database: BenchDatabase,
  seconds: number,
): Promise<number> {
  await withWay(WAYS.api, database, (running) =>
    runLoad(
      orderOf(bench, running, {
        traffic: { kind: 'ingest', first: 0 },
        pace: { kind: 'closed', connections: 64 },
        warmUpSeconds: 0,
        seconds,
      }),
    ),
  );
  return withClient(database.ownerUrl, async (owner) => {
    // What preparing left dirty is written now, not while the worker is measured.
    await owner.query('checkpoint');
    const { rows } = await owner.query<{ waiting: string }>(
      'select count(*)::text as waiting from ingestion',
    );
    return Number(rows[0]?.waiting);
  });
}

/** How a backlog was drained, from the first results to the last. */
export interface Drain {
  readonly evaluated: number;
  readonly seconds: number;
  readonly perSecond: number;
  /** CPU seconds per thousand events; NaN without /proc. */
  readonly workerCpu: number;
  readonly databaseCpu: number;
  /** Largest resident memory of the worker, MB. */
  readonly residentMegabytes: number;
  /** Cores that were busy with something that is no part of the bench. */
  readonly otherCores: number;
}

interface Sample {
  readonly at: number;
  readonly evaluated: number;
  readonly worker: number;
  readonly database: number;
  /** CPU seconds of the whole machine, and of the bench itself. */
  readonly machine: number;
  readonly bench: number;
}

/** Between two looks at the worker's counter, ms; each look costs the worker about a millisecond. */
const LOOK_MS = 100;

/** Waits that long for the next result before the worker counts as stuck, ms. */
const SILENCE_MS = 30_000;

/**
 * Evaluates what waits with a worker process of its own, until nothing is left.
 *
 * @throws Error when the worker stops before
 */
export async function drainBacklog(
  bench: Bench,
  database: BenchDatabase,
  waiting: number,
): Promise<Drain> {
  const worker = await startService({ ...database, role: 'worker' });
  try {
    const look = async (): Promise<Sample> => {
      const { evaluated } = await readServiceMetrics(worker.port);
      const { user, system } = process.cpuUsage();
      return {
        machine: busySecondsOfMachine(),
        bench: (user + system) / 1e6,
        evaluated,
        at: performance.now(),
        worker: cpuSecondsOf(worker.pid),
        database: cpuSecondsOfTree(bench.cluster.pid),
      };
    };
    let first: Sample | undefined;
    const start = await look();
    let last = start;
    let resident = Number.NaN;
    while (last.evaluated < waiting) {
      await sleep(LOOK_MS);
      const now = await look();
      const memory = residentMegabytes(worker.pid);
      if (!(memory <= resident)) resident = memory;
      if (now.evaluated > last.evaluated) {
        last = now;
        first ??= now;
      } else if (now.at - last.at > SILENCE_MS) {
        throw new Error(`The worker stopped at ${last.evaluated} of ${waiting} events.`);
      }
    }
    // A short backlog that was gone between two looks is measured from the worker's start.
    const from = first === undefined || first === last ? start : first;
    const evaluated = last.evaluated - from.evaluated;
    const seconds = (last.at - from.at) / 1000;
    const spent = (what: 'machine' | 'worker' | 'database' | 'bench'): number =>
      last[what] - from[what];
    return {
      evaluated,
      seconds,
      perSecond: evaluated / seconds,
      workerCpu: (spent('worker') / evaluated) * 1000,
      databaseCpu: (spent('database') / evaluated) * 1000,
      residentMegabytes: resident,
      otherCores: Math.max(
        0,
        (spent('machine') - spent('worker') - spent('database') - spent('bench')) / seconds,
      ),
    };
  } finally {
    await worker.stop();
  }
}
