import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { withClient } from '../cluster.ts';
import type { Measurement } from '../measure.ts';
import { MEASUREMENT_HEAD, measurementRow } from '../measurement-table.ts';
import { CALLERS, CREDENTIALS, measureDecisions, type Decisions } from '../rate-limit/decisions.ts';
import { fillWindows } from '../rate-limit/statements.ts';
import { LIMIT_WAYS, type LimitWay } from '../rate-limit/ways.ts';
import { shown, withSpread, type Table } from '../report.ts';
import { startService, type ServerProcess } from '../service-process.ts';
import { median } from '../statistics.ts';
import type { RunningWay, Way } from '../ways.ts';
import { measureIngest, sideBySide, withDatabase, type Bench, type Scenario } from './scenario.ts';

/** Connections of the ingest path. */
const CONNECTIONS = 64;

/** Seconds of decisions in a round at most: the room of the prepared windows ends before long. */
const DECISION_SECONDS = 4;

/** Ways of keeping the limit beside each other, then what the product's costs the whole ingest path. */
export const rateLimit: Scenario = async (bench) => [await decisions(bench), await ingest(bench)];

async function decisions(bench: Bench): Promise<Table> {
  const { rounds, seconds } = bench.options;
  const results = new Map<LimitWay, Decisions[]>(LIMIT_WAYS.map((way) => [way, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const way of round % 2 === 1 ? LIMIT_WAYS : LIMIT_WAYS.toReversed()) {
      const result = await withDatabase(bench, (database) =>
        measureDecisions(bench.cluster, database, way, Math.min(seconds, DECISION_SECONDS)),
      );
      results.get(way)?.push(result);
      bench.tell(`round ${round}/${rounds}  ${way.name}: ${Math.round(result.perSecond)}/s`);
    }
  }
  return {
    title: `Decisions of the rate limit, ${CALLERS} waiting callers, ${shown(CREDENTIALS)} credentials`,
    head: [
      'way',
      'decisions/s, median (range)',
      'database CPU s/1000',
      'client CPU s/1000',
      'both, CPU s/1000',
      'WAL bytes',
      'admitted of 400 at once in two limiters',
      'wrongly refused',
    ],
    rows: [...results].map(([{ name }, each]) => [
      name,
      withSpread(each.map(({ perSecond }) => perSecond)),
      withSpread(
        each.map(({ databaseCpu }) => databaseCpu),
        3,
      ),
      withSpread(
        each.map(({ clientCpu }) => clientCpu),
        3,
      ),
      withSpread(
        each.map(({ totalCpu }) => totalCpu),
        3,
      ),
      shown(median(each.map(({ wal }) => wal))),
      [...new Set(each.map(({ contended }) => contended))].join(', '),
      shown(each.reduce((sum, { refused }) => sum + refused, 0)),
    ]),
    notes: [
      'Every credential begins with a window of 40 one-second buckets, and none is filled while decisions are measured.',
    ],
  };
}

/** A service with a module loaded before it: one in both ways, so that they start alike. */
const preloaded = (name: string, module: string): Way => ({
  name,
  start: async (database) => {
    const url = pathToFileURL(join(import.meta.dirname, '..', module)).href;
    return runningOf(
      await startService({ ...database, role: 'api', nodeOptions: [`--import=${url}`] }),
    );
  },
});

const limited = preloaded('service, ROLE=api', 'rate-limit/with-limit.ts');
const unlimited = preloaded('the same without the limit', 'rate-limit/without-limit.ts');

const runningOf = (server: ServerProcess): RunningWay => ({
  target: { kind: 'http', port: server.port },
  pid: server.pid,
  stop: () => server.stop(),
});

async function ingest(bench: Bench): Promise<Table> {
  const ids = bench.cluster.credentials.map(({ credentialId }) => credentialId);
  const results = await sideBySide(bench, [limited, unlimited], async (way, running, database) => {
    if (way === limited) await withClient(database.ownerUrl, (owner) => fillWindows(owner, ids));
    return measureIngest(bench, running, database, { kind: 'closed', connections: CONNECTIONS });
  });
  const pairs = (results.get(limited) ?? []).map(
    (one, round) => [one, results.get(unlimited)?.[round] as Measurement] as const,
  );
  const cost = (of: (measurement: Measurement) => number): string => {
    const shares = pairs.map(([one, without]) => 100 * (1 - of(one) / of(without)));
    return `${withSpread(shares, 1)} %`;
  };
  const cpu = ({ serviceCpu, databaseCpu }: Measurement): number => serviceCpu + databaseCpu;
  const cpuOf = (way: Way): string =>
    withSpread(
      (results.get(way) ?? []).map((each) => cpu(each)),
      3,
    );
  return {
    title: `Ingest with and without the limit, ${CONNECTIONS} connections`,
    head: MEASUREMENT_HEAD,
    rows: [...results].map(([way, rounds]) => measurementRow(way.name, rounds)),
    notes: [
      `The limit costs ${cost(({ perSecond }) => perSecond)} of the accepted events per second (each round against its neighbour).`,
      `CPU of service and database, s/1000: ${cpuOf(limited)} with, ${cpuOf(unlimited)} without; the limit's share is ${cost((each) => 1 / cpu(each))}.`,
    ],
  };
}
