import { setTimeout as sleep } from 'node:timers/promises';
import { withClient, type BenchDatabase } from '../cluster.ts';
import { measure, type Measurement } from '../measure.ts';
import { shown, withSpread } from '../report.ts';
import { readServiceMetrics } from '../service-metrics.ts';
import { slope, type Point } from '../statistics.ts';
import { WAYS } from '../ways.ts';
import { orderOf, withDatabase, withWay, type Bench, type Scenario } from './scenario.ts';

/** Rates the search lies between, per second. */
const LOWEST = 500;
const HIGHEST = 6_000;

/** The search ends when it knows the rate this well, per second. */
const STEP = 250;

/** A backlog may grow by this share of the rate and still count as flat: the noise of a short look. */
const FLAT_SHARE = 0.01;

/** At most this much work, in seconds of the offered rate, may lie in the backlog at the end. */
const FLAT_SECONDS = 1.5;

/** Results that come later than this after the acceptance (p95, seconds) fail a rate, too. */
const LATEST_RESULT_P95 = 1;

/** Warm-up of the load, seconds. */
const WARM_UP = 3;

/** So much of what is offered must be accepted for a rate to count as held. */
const ACCEPTED_SHARE = 0.98;

interface Trial {
  readonly perSecond: number;
  readonly seconds: number;
  readonly measured: Measurement;
  /** Growth of the backlog, events per second. */
  readonly growth: number;
  readonly backlog: number;
  /** From received_at to evaluated_at, p50 and p95, seconds. */
  readonly resultP50: number;
  readonly resultP95: number;
  readonly verdict: 'flat' | 'backlog grows' | 'falls behind the offer' | 'results come late';
}

/**
 * The highest rate one process (ROLE=all) accepts and evaluates with a flat backlog: found by halving with short looks,
 * then held for a minute as often as there are rounds, one after the other, each from an empty database.
 */
export const together: Scenario = async (bench) => {
  const { quick, rounds } = bench.options;
  const trials: Trial[] = [];
  const attempt = async (perSecond: number, seconds: number): Promise<boolean> => {
    const trial = await tryRate(bench, perSecond, seconds);
    trials.push(trial);
    bench.tell(
      `${perSecond}/s for ${seconds} s: backlog ${Math.round(trial.backlog)}, ${trial.verdict}, result p95 ${trial.resultP95.toFixed(2)} s`,
    );
    return trial.verdict === 'flat';
  };
  let low = LOWEST;
  let high = HIGHEST;
  while (high - low > (quick ? 1_500 : STEP)) {
    const middle = Math.round((low + high) / 2 / 50) * 50;
    if (await attempt(middle, quick ? 6 : 20)) low = middle;
    else high = middle;
  }
  // A rate that only a short look allowed gives way to the next lower one.
  let held: Trial[] = [];
  for (let rate = low; held.length < rounds && rate >= LOWEST;) {
    const flat = await attempt(rate, quick ? 10 : 60);
    const last = trials.at(-1);
    if (flat && last !== undefined) {
      held.push(last);
    } else {
      held = [];
      rate -= STEP;
    }
  }
  const [best] = held;
  return [
    {
      title: 'Ingest and evaluation together, one process (ROLE=all)',
      head: [
        'offered/s',
        'seconds',
        'accepted/s',
        'p99 ms',
        'backlog at the end',
        'backlog growth/s',
        'result p50 s',
        'result p95 s',
        'service CPU s/1000',
        'database CPU s/1000',
        'service RSS MB',
        'load CPU, cores',
        'other CPU, cores',
        'verdict',
      ],
      rows: trials.map((trial) => [
        shown(trial.perSecond),
        shown(trial.seconds),
        shown(trial.measured.perSecond),
        shown(trial.measured.latencies.p99, 1),
        shown(trial.backlog),
        shown(trial.growth, 1),
        shown(trial.resultP50, 2),
        shown(trial.resultP95, 2),
        shown(trial.measured.serviceCpu, 3),
        shown(trial.measured.databaseCpu, 3),
        shown(trial.measured.residentMegabytes),
        shown(trial.measured.cpuShare, 2),
        shown(trial.measured.otherCores, 2),
        trial.verdict,
      ]),
      notes: [
        best !== undefined
          ? `Held ${held.length === 1 ? 'once' : `${held.length} times in a row`} for ${shown(best.seconds)} s with a flat backlog: ${shown(best.perSecond)} transactions per second; accept to result p95 ${withSpread(
              held.map(({ resultP95 }) => resultP95),
              2,
            )} s.`
          : `No rate from ${LOWEST} per second on was held.`,
        `Flat: at least ${ACCEPTED_SHARE * 100} % of the offer accepted, backlog growing by less than ${FLAT_SHARE * 100} % of it and below ${FLAT_SECONDS} s of work, result p95 below ${LATEST_RESULT_P95} s; the first third of each trial belongs to compilers and caches.`,
        'Result times run from received_at to evaluated_at, the moment a batch began; its commit follows within one batch time.',
      ],
    },
  ];
};

async function tryRate(bench: Bench, perSecond: number, seconds: number): Promise<Trial> {
  return withDatabase(bench, (database) =>
    withWay(WAYS.all, database, async (running) => {
      const { target } = running;
      const port = target.kind === 'http' ? target.port : 0;
      const backlogs: Point[] = [];
      const stop = new AbortController();
      const watching = watchBacklog(database, port, backlogs, stop.signal);
      const measured = await measure(
        bench.cluster,
        database,
        orderOf(bench, running, {
          traffic: { kind: 'ingest', first: 0 },
          pace: { kind: 'open', connections: 64, perSecond },
          warmUpSeconds: WARM_UP,
          seconds,
        }),
        running.pid,
      );
      stop.abort();
      await watching;
      const times = await resultTimes(database, seconds * (2 / 3));
      // The first third belongs to compilers and caches.
      const late = backlogs.filter(({ x }) => x > WARM_UP + seconds / 3);
      const growth = slope(late);
      const backlog =
        late.slice(-3).reduce((sum, { y }) => sum + y, 0) / Math.max(1, late.slice(-3).length);
      const grows = growth >= perSecond * FLAT_SHARE || backlog >= perSecond * FLAT_SECONDS;
      const verdict =
        measured.perSecond <= perSecond * ACCEPTED_SHARE
          ? 'falls behind the offer'
          : grows
            ? 'backlog grows'
            : times.resultP95 >= LATEST_RESULT_P95
              ? 'results come late'
              : 'flat';
      return { perSecond, seconds, measured, growth, backlog, ...times, verdict };
    }),
  );
}

/** Accepted and not yet evaluated, once a second: usage counters less what the service says it has evaluated. */
async function watchBacklog(
  database: BenchDatabase,
  port: number,
  into: Point[],
  stop: AbortSignal,
): Promise<void> {
  const began = performance.now();
  await withClient(database.ownerUrl, async (client) => {
    while (!stop.aborted) {
      const { rows } = await client.query<{ accepted: string }>(
        'select sum(accepted)::text as accepted from usage_counter',
      );
      const { evaluated } = await readServiceMetrics(port);
      into.push({
        x: (performance.now() - began) / 1000,
        y: Number(rows[0]?.accepted ?? 0) - evaluated,
      });
      await sleep(1_000, undefined, { signal: stop }).catch(() => undefined);
    }
  });
}

/** Of events received in the last so many seconds. */
async function resultTimes(
  database: BenchDatabase,
  seconds: number,
): Promise<{ resultP50: number; resultP95: number }> {
  return withClient(database.ownerUrl, async (client) => {
    // An event without a result yet counts with the time it has waited so far.
    const { rows } = await client.query<{ p50: number; p95: number }>(
      `select percentile_disc(0.5) within group (order by took)::float8 as p50,
         percentile_disc(0.95) within group (order by took)::float8 as p95
       from (select extract(epoch from coalesce(evaluation.evaluated_at, now()) - event.received_at) as took
         from ingestion event left join evaluation on evaluation.site_id = event.site_id and evaluation.ingestion_id = event.id
         where event.received_at < (select max(received_at) from ingestion) - interval '1 second'
           and event.received_at > (select max(received_at) from ingestion) - $1::float8 * interval '1 second') as times`,
      [seconds],
    );
    return { resultP50: rows[0]?.p50 ?? Number.NaN, resultP95: rows[0]?.p95 ?? Number.NaN };
  });
}
