import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchDatabase } from '../cluster.ts';
import { runLoad } from '../load/index.ts';
import { readServiceMetrics } from '../service-metrics.ts';
import { startService } from '../service-process.ts';
import { WAYS } from '../ways.ts';
import { orderOf, withWay, type Bench } from './scenario.ts';

/** Fills a database with events that wait for their evaluation; returns how many were accepted at least. */
export async function prepareBacklog(
  bench: Bench,
  database: BenchDatabase,
  seconds: number,
): Promise<number> {
  return withWay(WAYS.api, database, async (running) => {
    const result = await runLoad(
      orderOf(bench, running, {
        traffic: { kind: 'ingest', first: 0 },
        pace: { kind: 'closed', connections: 64 },
        warmUpSeconds: 0,
        seconds,
      }),
    );
    return result.accepted;
  });
}

/** How a backlog was drained. */
export interface Drain {
  readonly evaluated: number;
  /** From the first results to the last. */
  readonly seconds: number;
  readonly perSecond: number;
  readonly pid: number;
}

/** Waits that long for the next result before the backlog counts as drained (or the worker as stuck), ms. */
const SILENCE_MS = 3_000;

/** Evaluates what waits with a worker process of its own, until nothing is left. `onProgress` sees its process id. */
export async function drainBacklog(
  database: BenchDatabase,
  nodeOptions: readonly string[] = [],
  onFirst?: (pid: number) => void,
): Promise<Drain> {
  const worker = await startService({ ...database, role: 'worker', nodeOptions });
  try {
    let began: { at: number; evaluated: number } | undefined;
    let last = { at: performance.now(), evaluated: 0 };
    for (;;) {
      const { evaluated } = await readServiceMetrics(worker.port);
      const at = performance.now();
      if (evaluated > last.evaluated) {
        last = { at, evaluated };
        if (began === undefined) {
          began = last;
          onFirst?.(worker.pid);
        }
      } else if (at - last.at > SILENCE_MS) {
        break;
      }
      await sleep(50);
    }
    const first = began ?? last;
    const seconds = (last.at - first.at) / 1000;
    const evaluated = last.evaluated - first.evaluated;
    return { evaluated: last.evaluated, seconds, perSecond: evaluated / seconds, pid: worker.pid };
  } finally {
    await worker.stop();
  }
}
