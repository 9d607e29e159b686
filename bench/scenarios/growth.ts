import { withClient, type BenchDatabase } from '../cluster.ts';
import { EventSource } from '../events.ts';
import { BUSIEST } from '../growth/busy-entities.ts';
import { checkpointCycle } from '../growth/checkpoint-cycle.ts';
import { growLedger } from '../growth/ledger.ts';
import { MEASUREMENT_HEAD, measurementRow } from '../measurement-table.ts';
import { measure, type Measurement } from '../measure.ts';
import { ratio, shown, type Table } from '../report.ts';
import { median } from '../statistics.ts';
import { WAYS, type RunningWay } from '../ways.ts';
import { orderOf, SEED, withDatabase, withWay, type Bench, type Scenario } from './scenario.ts';

/** Connections of the ingest path. */
const CONNECTIONS = 64;

/** A checkpoint begins by the clock after ten minutes at the latest. */
const LONGEST_CYCLE_SECONDS = 660;

interface Size {
  readonly rows: number;
  readonly busiest: number;
}

const FULL: Size = { rows: 10_000_000, busiest: 1_000_000 };
const QUICK: Size = { rows: 200_000, busiest: 20_000 };

/** What a ledger of ten million rows changes. */
export const growth: Scenario = async (bench) => {
  const size = bench.options.quick ? QUICK : FULL;
  return withDatabase(bench, async (grown) => {
    const began = performance.now();
    await growLedger(grown.ownerUrl, {
      rows: size.rows,
      busiestMerchantRows: size.busiest,
      busiestMerchant: BUSIEST.merchant,
      idPrefix: new EventSource({ seed: SEED, sites: bench.cluster.sites }).idPrefix,
      onProgress: (rows) => {
        if (rows % 1_000_000 === 0) bench.tell(`ledger: ${shown(rows)} rows`);
      },
    });
    bench.tell(
      `ledger of ${shown(size.rows)} rows built in ${shown((performance.now() - began) / 1000)} s`,
    );
    return [await ingestTable(bench, grown, size)];
  });
};

async function ingestTable(bench: Bench, grown: BenchDatabase, size: Size): Promise<Table> {
  const { rounds, quick } = bench.options;
  const ways = {
    empty: { name: 'empty ledger, ids in no order', rounds: [] as Measurement[] },
    grown: { name: `${shown(size.rows)} rows, ids in no order`, rounds: [] as Measurement[] },
    ascending: { name: `${shown(size.rows)} rows, ascending ids`, rounds: [] as Measurement[] },
  };
  // Numbers of events that the grown ledger has not seen.
  let next = 0;
  const attempt = async (way: keyof typeof ways): Promise<void> => {
    const ascending = way === 'ascending';
    const one = async (database: BenchDatabase, first: number): Promise<void> => {
      const measured = await withWay(WAYS.api, database, (running) =>
        measureCycle(bench, running, database, first, !ascending),
      );
      ways[way].rounds.push(measured);
      next = Math.max(next, measured.next);
      bench.tell(
        `${ways[way].name}: ${Math.round(measured.perSecond)}/s over ${Math.round(measured.seconds)} s`,
      );
    };
    if (way === 'empty') {
      await withDatabase(bench, (database) => one(database, 0));
    } else {
      await clearJobs(grown);
      await one(grown, next);
    }
  };
  for (let round = 1; round <= rounds; round += 1) {
    const order = ['empty', 'grown'] as const;
    for (const way of round % 2 === 1 ? order : order.toReversed()) await attempt(way);
  }
  await attempt('ascending');
  const rate = (way: keyof typeof ways): number =>
    median(ways[way].rounds.map(({ perSecond }) => perSecond));
  const seconds = Object.values(ways).map(
    (way) => `${way.name} ${shown(median(way.rounds.map(({ seconds: measured }) => measured)))} s`,
  );
  return {
    title: `Ingest into a grown ledger, ROLE=api, ${CONNECTIONS} connections`,
    head: MEASUREMENT_HEAD,
    rows: Object.values(ways).map((way) => measurementRow(way.name, way.rounds)),
    notes: [
      `Grown to empty: ${ratio(rate('grown'), rate('empty'))} (with ascending ids, one round: ${ratio(rate('ascending'), rate('empty'))}).`,
      quick
        ? 'Too short for a checkpoint cycle.'
        : `Each round lasts one checkpoint cycle, from a forced checkpoint until the server begins its next: ${seconds.join(', ')}.`,
      `The rows and their idempotency keys were inserted in the database, spread over 30 days, with scattered ids and indexes filled to 70 %, as random insertion leaves them; without payloads, evaluations and jobs, whose keys grow at one end only. ${shown(size.busiest)} rows belong to one merchant.`,
    ],
  };
}

async function measureCycle(
  bench: Bench,
  running: RunningWay,
  database: BenchDatabase,
  first: number,
  scatteredIds: boolean,
): Promise<Measurement> {
  const { quick, seconds } = bench.options;
  const ended = new AbortController();
  let begin: () => void = () => undefined;
  const enough = new Promise<void>((resolve) => {
    begin = resolve;
  }).then(() => checkpointCycle(database.ownerUrl, ended.signal));
  enough.catch(() => undefined);
  try {
    return await measure(
      bench.cluster,
      database,
      orderOf(bench, running, {
        traffic: { kind: 'ingest', first, scatteredIds },
        pace: { kind: 'closed', connections: CONNECTIONS },
        seconds: quick ? seconds : LONGEST_CYCLE_SECONDS,
      }),
      running.pid,
      quick ? {} : { enough, onMeasuring: begin },
    );
  } finally {
    ended.abort();
  }
}

/** An empty backlog, as every round begins with. */
async function clearJobs(database: BenchDatabase): Promise<void> {
  await withClient(database.ownerUrl, async (owner) => {
    const { rows } = await owner.query<{ table_name: string }>(
      `select table_name from pgboss.queue where name = 'evaluate'`,
    );
    await owner.query(`truncate pgboss.${rows[0]?.table_name ?? 'job_common'}`);
    await owner.query('checkpoint');
  });
}
