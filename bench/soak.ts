import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startCluster, type BenchCluster } from './cluster.ts';
import { runLoad } from './load/index.ts';
import { readServiceMetrics } from './service-metrics.ts';
import { startService } from './service-process.ts';
import { slope, type Point } from './statistics.ts';

const HELP = `Runs the service (ROLE=all) under 64 connections at a steady rate below its capacity and watches its memory.

  npm run soak                                    ten minutes
  npm run soak -- --minutes 60 --rate 1500        longer, at another rate (events per second, default 1000)
  npm run soak -- --bound 30                      MB per hour that memory may grow (default 60)

Samples resident memory and heap every five seconds. The first quarter (at least one minute, at most five) is warm-up;
the slope of the rest is found by least squares. Ends with exit code 1 where resident memory grows by more than the bound,
or where a request was not accepted.
`;

const SAMPLE_MS = 5_000;

interface SoakOptions {
  readonly minutes: number;
  readonly rate: number;
  /** MB per hour. */
  readonly bound: number;
}

function readSoakOptions(): SoakOptions | 'help' {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean', short: 'h' },
      minutes: { type: 'string', default: '10' },
      rate: { type: 'string', default: '1000' },
      bound: { type: 'string', default: '60' },
    },
  });
  if (values.help === true) return 'help';
  const [minutes = 0, rate = 0, bound = 0] = [values.minutes, values.rate, values.bound].map(
    Number,
  );
  if (!(minutes > 0 && rate > 0 && bound > 0)) {
    throw new TypeError('--minutes, --rate and --bound must be numbers above 0.');
  }
  return { minutes, rate, bound };
}

async function soak(cluster: BenchCluster, options: SoakOptions): Promise<boolean> {
  const database = await cluster.clone();
  const service = await startService({ ...database, role: 'all' });
  const resident: Point[] = [];
  const heap: Point[] = [];
  const stop = new AbortController();
  const began = performance.now();
  const watching = (async () => {
    while (!stop.signal.aborted) {
      await sleep(SAMPLE_MS, undefined, { signal: stop.signal }).catch(() => undefined);
      const hours = (performance.now() - began) / 3_600_000;
      const sample = await readServiceMetrics(service.port).catch(() => undefined);
      if (sample === undefined) continue;
      resident.push({ x: hours, y: sample.residentMegabytes });
      heap.push({ x: hours, y: sample.heapUsedMegabytes });
      if (resident.length % 12 === 0) {
        console.error(
          `  ${(hours * 60).toFixed(1)} min: RSS ${sample.residentMegabytes.toFixed(0)} MB, heap ${sample.heapUsedMegabytes.toFixed(0)} MB, ${sample.evaluated} evaluated`,
        );
      }
    }
  })();
  try {
    const result = await runLoad({
      target: { kind: 'http', port: service.port },
      traffic: { kind: 'ingest', first: 0 },
      pace: { kind: 'open', connections: 64, perSecond: options.rate },
      credentials: cluster.credentials,
      sites: cluster.sites,
      seed: 20_261,
      warmUpSeconds: 1,
      seconds: options.minutes * 60,
    });
    const warmUpHours = Math.min(5, Math.max(1, options.minutes / 4)) / 60;
    const late = (points: readonly Point[]): Point[] => points.filter(({ x }) => x >= warmUpHours);
    const growth = slope(late(resident));
    const refused = Object.entries(result.statuses).filter(([status]) => status !== '202');
    const largest = Math.max(...resident.map(({ y }) => y));
    console.log(
      `Accepted      ${result.accepted} (${result.perSecond.toFixed(0)}/s), p99 ${result.latencies.p99.toFixed(1)} ms`,
    );
    console.log(
      `Other answers ${refused.length === 0 ? 'none' : refused.map(([status, n]) => `${status}: ${n}`).join(', ')}`,
    );
    console.log(
      `RSS           largest ${largest.toFixed(0)} MB, slope ${growth.toFixed(1)} MB/h over ${late(resident).length} samples (bound ${options.bound})`,
    );
    console.log(`Heap used     slope ${slope(late(heap)).toFixed(1)} MB/h`);
    return growth <= options.bound && refused.length === 0;
  } finally {
    stop.abort();
    await watching;
    await service.stop();
    await database.drop();
  }
}

try {
  const options = readSoakOptions();
  if (options === 'help') {
    console.log(HELP);
  } else {
    const cluster = await startCluster();
    try {
      if (!(await soak(cluster, options))) process.exitCode = 1;
    } finally {
      await cluster.stop();
    }
  }
} catch (error: unknown) {
  console.error(error instanceof Error ? error.message : 'The soak failed.');
  process.exitCode = 1;
}
