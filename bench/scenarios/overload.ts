import { setTimeout as sleep } from 'node:timers/promises';
import { measure, type Measurement } from '../measure.ts';
import type { BenchDatabase } from '../cluster.ts';
import type { Traffic } from '../load/protocol.ts';
import { residentMegabytes } from '../processes.ts';
import { shown, withSpread, type Table } from '../report.ts';
import { readServiceMetrics, type ServiceMetrics } from '../service-metrics.ts';
import { median } from '../statistics.ts';
import { WAYS, type RunningWay } from '../ways.ts';
import { orderOf, withDatabase, withWay, type Bench, type Scenario } from './scenario.ts';

/** Connections at capacity, ten times as many, and far more than may wait (ledger/ingest-queue.ts). */
const CAPACITY = 64;
const TENFOLD = 640;
const FLOOD = 6_000;

/** Largest body that is taken, bytes. */
const LARGE = 256 * 1024;

/** Wait between a burst and the look at what is left of it, ms. */
const RECOVERY_MS = 5_000;

/** What the issue asks: accepted ones in a burst, and everybody 5 s after it, beside the time before. */
const P99_IN_BURST = 3;
const AFTER_BURST = 1.2;

/** One round, in the order in which its phases follow each other; `against` names the phase it is compared with. */
const PHASES = [
  { key: 'before', name: 'at capacity: 64 connections', connections: CAPACITY },
  { key: 'tenfold', name: '640 connections', connections: TENFOLD, against: 'before' },
  { key: 'later', name: '5 s later: 64 connections', connections: CAPACITY, against: 'before' },
  { key: 'flood', name: '6,000 connections', connections: FLOOD, against: 'before' },
  { key: 'later2', name: '5 s later: 64 connections', connections: CAPACITY, against: 'before' },
  {
    key: 'large',
    name: 'at capacity, 256 KiB bodies: 64 connections',
    connections: CAPACITY,
    bytes: LARGE,
  },
  {
    key: 'largeTenfold',
    name: '640 connections, 256 KiB bodies',
    connections: TENFOLD,
    bytes: LARGE,
    against: 'large',
  },
  { key: 'later3', name: '5 s later: 64 connections', connections: CAPACITY, against: 'before' },
] as const satisfies readonly {
  key: string;
  name: string;
  connections: number;
  bytes?: number;
  against?: string;
}[];
type Key = (typeof PHASES)[number]['key'];

/** What one phase did, memory in MB and bounds as the service's own gauges showed them. */
interface Phase {
  readonly measured: Measurement;
  readonly memoryAfter: number;
  readonly queuedRows: number;
  readonly queuedBytes: number;
  readonly bodyBytes: number;
  readonly groups: number;
  readonly groupBytes: number;
  readonly groupsAboveBound: number;
}

type Round = Record<Key, Phase>;

/** Bursts of far more than the service can take: what they do to those it accepts, to memory, and to everybody afterwards. */
export const overload: Scenario = async (bench) => {
  const rounds: Round[] = [];
  for (let number = 1; number <= bench.options.rounds; number += 1) {
    rounds.push(
      await withDatabase(bench, (database) =>
        withWay(WAYS.api, database, (running) => runRound(bench, database, running, number)),
      ),
    );
  }
  return [latencyTable(rounds), memoryTable(rounds)];
};

async function runRound(
  bench: Bench,
  database: BenchDatabase,
  running: RunningWay,
  number: number,
): Promise<Round> {
  const done: Partial<Round> = {};
  let first = 0;
  for (const phase of PHASES) {
    if (phase.key.startsWith('later')) await sleep(RECOVERY_MS);
    const traffic = {
      kind: 'ingest',
      first,
      padToBytes: 'bytes' in phase ? phase.bytes : 0,
    } as const;
    const result = await runPhase(bench, running, database, traffic, phase.connections);
    first = result.measured.next;
    done[phase.key] = result;
    bench.tell(
      `round ${number}/${bench.options.rounds}  ${phase.name}: ${Math.round(result.measured.perSecond)}/s accepted, p99 ${result.measured.latencies.p99.toFixed(1)} ms`,
    );
  }
  return done as Round;
}

async function runPhase(
  bench: Bench,
  running: RunningWay,
  database: BenchDatabase,
  traffic: Traffic,
  connections: number,
): Promise<Phase> {
  const port = running.target.kind === 'http' ? running.target.port : 0;
  const order = orderOf(bench, running, {
    traffic,
    pace: { kind: 'closed', connections },
    warmUpSeconds: bench.options.quick ? 1 : 2,
    seconds: bench.options.quick ? 2 : 5,
  });
  const most = { queuedRows: 0, queuedBytes: 0, bodyBytes: 0 };
  const look = async (): Promise<ServiceMetrics | undefined> => {
    const seen = await readServiceMetrics(port).catch(() => undefined);
    if (seen === undefined) return undefined;
    most.queuedRows = Math.max(most.queuedRows, seen.queuedRows);
    most.queuedBytes = Math.max(most.queuedBytes, seen.queuedBytes);
    most.bodyBytes = Math.max(most.bodyBytes, seen.bodyBytes);
    return seen;
  };
  const before = await look();
  const measured = await measure(bench.cluster, database, order, running.pid, {
    onLook: async () => void (await look()),
  });
  const memoryAfter = residentMegabytes(running.pid ?? 0);
  const after = await look();
  const grown = (what: 'groups' | 'groupBytes' | 'groupsWithinBound'): number =>
    (after?.[what] ?? Number.NaN) - (before?.[what] ?? Number.NaN);
  return {
    measured,
    memoryAfter,
    ...most,
    groups: grown('groups'),
    groupBytes: grown('groupBytes'),
    groupsAboveBound: grown('groups') - grown('groupsWithinBound'),
  };
}

function latencyTable(rounds: readonly Round[]): Table {
  const over = (key: Key, of: (phase: Phase) => number): number[] =>
    rounds.map((round) => of(round[key]));
  const middle = (key: Key, of: (phase: Phase) => number): number => median(over(key, of));
  const against = (key: Key, to: Key, of: (phase: Phase) => number): number =>
    median(rounds.map((round) => of(round[key]) / of(round[to])));
  const p99 = ({ measured }: Phase): number => measured.latencies.p99;
  const verdict = (key: Key, value: number, most: number): string =>
    `${PHASES.find((phase) => phase.key === key)?.name ?? key}: ${value.toFixed(2)}x (at most ${most}x: ${value <= most ? 'held' : 'MISSED'})`;
  const memory = ({ memoryAfter }: Phase): number => memoryAfter;
  const silent = rounds
    .flatMap((round) => Object.values(round))
    .reduce((sum, { measured }) => sum + measured.withoutRetryAfter, 0);
  return {
    title: 'Overload and recovery, ROLE=api',
    head: [
      'phase',
      'accepted/s, median (range)',
      'p50 ms',
      'p99 ms (range)',
      'p99 to capacity',
      'max ms',
      '503/s',
      'p50 of a 503, ms',
      'p99 of a 503, ms',
      'broken connections',
      'load CPU, cores',
      'other CPU, cores',
    ],
    rows: PHASES.map((phase) => [
      phase.name,
      withSpread(over(phase.key, ({ measured }) => measured.perSecond)),
      shown(
        middle(phase.key, ({ measured }) => measured.latencies.p50),
        1,
      ),
      withSpread(over(phase.key, p99), 1),
      'against' in phase ? `${against(phase.key, phase.against, p99).toFixed(2)}x` : '-',
      shown(Math.max(...over(phase.key, ({ measured }) => measured.latencies.max)), 1),
      shown(
        middle(phase.key, ({ measured }) => (measured.statuses['503'] ?? 0) / measured.seconds),
      ),
      shown(
        middle(phase.key, ({ measured }) => measured.refusalLatencies.p50),
        1,
      ),
      shown(
        middle(phase.key, ({ measured }) => measured.refusalLatencies.p99),
        1,
      ),
      shown(Math.max(...over(phase.key, ({ measured }) => measured.statuses['0'] ?? 0))),
      shown(
        middle(phase.key, ({ measured }) => measured.cpuShare),
        2,
      ),
      shown(
        middle(phase.key, ({ measured }) => measured.otherCores),
        2,
      ),
    ]),
    notes: [
      'Callers send again as soon as they are answered, refused ones too: nobody waits as Retry-After asks.',
      `p99 of the accepted in a burst, to capacity: ${[
        verdict('tenfold', against('tenfold', 'before', p99), P99_IN_BURST),
        verdict('flood', against('flood', 'before', p99), P99_IN_BURST),
        verdict('largeTenfold', against('largeTenfold', 'large', p99), P99_IN_BURST),
      ].join('; ')}.`,
      `p99 5 s after each burst, to before: ${(['later', 'later2', 'later3'] as const).map((key) => `${against(key, 'before', p99).toFixed(2)}x`).join(', ')} (at most ${AFTER_BURST}x). Memory after 640 connections and 5 s: ${against('later', 'before', memory).toFixed(2)}x of before (at most ${AFTER_BURST}x).`,
      silent === 0
        ? 'Every 503 named a time to come back (Retry-After).'
        : `${shown(silent)} answers 503 named no time to come back.`,
    ],
  };
}

const MB = 2 ** 20;

function memoryTable(rounds: readonly Round[]): Table {
  const most = (key: Key, of: (phase: Phase) => number): number =>
    Math.max(...rounds.map((round) => of(round[key])));
  const sum = (key: Key, of: (phase: Phase) => number): number =>
    rounds.reduce((total, round) => total + of(round[key]), 0);
  return {
    title: 'What overload holds in memory, ROLE=api',
    head: [
      'phase',
      'largest RSS MB',
      'RSS after MB',
      'queue: most rows',
      'queue: most MiB',
      'bodies in flight: most MiB',
      'groups',
      'mean KiB of a group',
      'groups above 2 MiB',
    ],
    rows: PHASES.map(({ key, name }) => [
      name,
      shown(most(key, ({ measured }) => measured.residentMegabytes)),
      shown(most(key, ({ memoryAfter }) => memoryAfter)),
      shown(most(key, ({ queuedRows }) => queuedRows)),
      shown(
        most(key, ({ queuedBytes }) => queuedBytes / MB),
        1,
      ),
      shown(
        most(key, ({ bodyBytes }) => bodyBytes / MB),
        1,
      ),
      shown(sum(key, ({ groups }) => groups)),
      shown(sum(key, ({ groupBytes }) => groupBytes) / sum(key, ({ groups }) => groups) / 1024),
      shown(sum(key, ({ groupsAboveBound }) => groupsAboveBound)),
    ]),
    notes: [
      'Largest of all rounds. Queue and bodies are what the service says of itself four times a second (/metrics); the bounds are 1,024 rows and 32 MiB waiting, 32 MiB being received, 256 rows and 2 MiB a group.',
    ],
  };
}
