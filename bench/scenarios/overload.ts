import { setTimeout as sleep } from 'node:timers/promises';
import { measure, type Measurement } from '../measure.ts';
import type { BenchDatabase } from '../cluster.ts';
import type { Traffic } from '../load/protocol.ts';
import { residentMegabytes } from '../processes.ts';
import { ratio, shown } from '../report.ts';
import { WAYS, type RunningWay } from '../ways.ts';
import { orderOf, withDatabase, withWay, type Bench, type Scenario } from './scenario.ts';

/** Connections at capacity, ten times as many, and so many that the queue (4,096 rows) must refuse. */
const CAPACITY = 64;
const TENFOLD = 640;
const FLOOD = 6_000;

/** Wait between a burst and the look at what is left of it, ms. */
const RECOVERY_MS = 5_000;

interface Phase {
  readonly name: string;
  readonly measured: Measurement;
  readonly memoryAfter: number;
}

/** Bursts of far more than the service can take, and what they do to those it accepts. */
export const overload: Scenario = async (bench) => {
  const phases = await withDatabase(bench, (database) =>
    withWay(WAYS.api, database, async (running) => {
      const done: Phase[] = [];
      let first = 0;
      const phase = async (name: string, connections: number, padToBytes = 0): Promise<void> => {
        const traffic: Traffic = { kind: 'ingest', first, padToBytes };
        const measured = await runPhase(bench, running, database, traffic, connections);
        first = measured.next;
        done.push({ name, measured, memoryAfter: residentMegabytes(running.pid ?? 0) });
        bench.tell(
          `${name}: ${Math.round(measured.perSecond)}/s accepted, p99 ${measured.latencies.p99.toFixed(1)} ms`,
        );
      };
      await phase('before', CAPACITY);
      await phase('ten times the connections', TENFOLD);
      await sleep(RECOVERY_MS);
      await phase('5 s later', CAPACITY);
      await phase(`${FLOOD} connections`, FLOOD);
      await sleep(RECOVERY_MS);
      await phase('5 s later', CAPACITY);
      await phase('ten times the connections, 256 KiB each', TENFOLD, 256 * 1024);
      await sleep(RECOVERY_MS);
      await phase('5 s later', CAPACITY);
      return done;
    }),
  );
  const [before, tenfold, afterTenfold] = phases;
  return [
    {
      title: 'Overload and recovery, ROLE=api',
      head: [
        'phase',
        'accepted/s',
        'p50 ms',
        'p99 ms',
        'max ms',
        '503/s',
        'p99 of a 503, ms',
        'largest RSS MB',
        'RSS after MB',
        'broken connections',
        'load CPU, cores',
      ],
      rows: phases.map(({ name, measured, memoryAfter }) => [
        name,
        shown(measured.perSecond),
        shown(measured.latencies.p50, 1),
        shown(measured.latencies.p99, 1),
        shown(measured.latencies.max, 1),
        shown((measured.statuses['503'] ?? 0) / measured.seconds),
        shown(measured.refusalLatencies.p99, 1),
        shown(measured.residentMegabytes),
        shown(memoryAfter),
        shown(measured.statuses['0'] ?? 0),
        shown(measured.cpuShare, 2),
      ]),
      notes: [
        'Callers send again as soon as they are answered, refused ones too: nobody waits as Retry-After asks.',
        ...(before === undefined || tenfold === undefined || afterTenfold === undefined
          ? []
          : [
              `p99 of accepted requests with ten times the connections: ${ratio(tenfold.measured.latencies.p99, before.measured.latencies.p99)} of before; 5 s later ${ratio(afterTenfold.measured.latencies.p99, before.measured.latencies.p99)}, memory ${ratio(afterTenfold.memoryAfter, before.memoryAfter)}.`,
            ]),
      ],
    },
  ];
};

function runPhase(
  bench: Bench,
  running: RunningWay,
  database: BenchDatabase,
  traffic: Traffic,
  connections: number,
): Promise<Measurement> {
  const order = orderOf(bench, running, {
    traffic,
    pace: { kind: 'closed', connections },
    warmUpSeconds: bench.options.quick ? 1 : 2,
    seconds: bench.options.quick ? 2 : 5,
  });
  return measure(bench.cluster, database, order, running.pid);
}
