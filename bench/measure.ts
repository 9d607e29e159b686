import type { Client } from 'pg';
import { withClient, type BenchCluster, type BenchDatabase } from './cluster.ts';
import { runLoad } from './load/index.ts';
import type { LoadOrder, LoadResult } from './load/protocol.ts';
import {
  busySecondsOfMachine,
  cpuSecondsOf,
  cpuSecondsOfTree,
  residentMegabytes,
} from './processes.ts';

/** One measured phase: what the load saw and what it cost. */
export interface Measurement extends LoadResult {
  /** CPU seconds per thousand accepted requests; NaN where there is no such process. */
  readonly serviceCpu: number;
  readonly databaseCpu: number;
  readonly walBytes: number;
  readonly fsyncs: number;
  /** Largest resident memory of the service's process, MB. */
  readonly residentMegabytes: number;
  /** Cores that were busy with something that is no part of the bench. */
  readonly otherCores: number;
}

/** How often memory is looked at, ms. */
const LOOK_MS = 250;

interface Counters {
  readonly service: number;
  readonly database: number;
  readonly wal: number;
  readonly fsyncs: number;
  readonly machine: number;
  /** The bench itself, without the load. */
  readonly bench: number;
  readonly at: number;
}

/** What happens around a measured phase. */
export interface MeasureOptions {
  /** Ends the phase before its time. */
  readonly enough?: Promise<unknown>;
  /** The phase begins. */
  readonly onMeasuring?: () => void;
  /** Called four times a second while it lasts; a failed look is the caller's to ignore. */
  readonly onLook?: () => Promise<void>;
}

/** Runs a load and measures what the service (if there is one) and the database spend on it. */
export async function measure(
  cluster: BenchCluster,
  database: BenchDatabase,
  order: LoadOrder,
  servicePid?: number,
  options: MeasureOptions = {},
): Promise<Measurement> {
  return withClient(database.ownerUrl, async (client) => {
    const read = (): Promise<Counters> => {
      const counters = readCounters(client, cluster, servicePid);
      // Awaited only where the load comes to its end.
      counters.catch(() => undefined);
      return counters;
    };
    let before: Promise<Counters> | undefined;
    let after: Promise<Counters> | undefined;
    let largest = Number.NaN;
    const looking = setInterval(() => {
      if (before === undefined || after !== undefined) return;
      void options.onLook?.();
      if (servicePid === undefined) return;
      const now = residentMegabytes(servicePid);
      if (!(now <= largest)) largest = now;
    }, LOOK_MS);
    try {
      const result = await runLoad(order, {
        onMeasuring: () => {
          before = read();
          options.onMeasuring?.();
        },
        onMeasured: () => {
          after = read();
        },
        ...(options.enough === undefined ? {} : { enough: options.enough }),
      });
      const [from, to] = [await before, await after];
      if (from === undefined || to === undefined) throw new Error('The load was never measured.');
      const spent = (what: keyof Counters): number => to[what] - from[what];
      const load = result.cpuShare * result.seconds;
      const ours =
        (Number.isNaN(spent('service')) ? 0 : spent('service')) +
        spent('database') +
        spent('bench') +
        load;
      return {
        ...result,
        serviceCpu: (spent('service') / result.accepted) * 1000,
        databaseCpu: (spent('database') / result.accepted) * 1000,
        walBytes: spent('wal') / result.accepted,
        fsyncs: spent('fsyncs') / result.accepted,
        residentMegabytes: largest,
        // Clock ticks of a hundredth of a second in several processes: the difference may fall below nothing.
        otherCores: Math.max(0, (spent('machine') - ours) / (spent('at') / 1000)),
      };
    } finally {
      clearInterval(looking);
    }
  });
}

async function readCounters(
  client: Client,
  cluster: BenchCluster,
  service: number | undefined,
): Promise<Counters> {
  const { user, system } = process.cpuUsage();
  const cpu = {
    service: service === undefined ? Number.NaN : cpuSecondsOf(service),
    database: cpuSecondsOfTree(cluster.pid),
    machine: busySecondsOfMachine(),
    bench: (user + system) / 1e6,
    at: performance.now(),
  };
  const major = Number.parseInt(cluster.version, 10);
  // Since PostgreSQL 18 pg_stat_io counts the syncs of the WAL, before that pg_stat_wal.
  const fsyncs =
    major >= 18
      ? `(select coalesce(sum(fsyncs), 0) from pg_stat_io where object = 'wal')`
      : '(select wal_sync from pg_stat_wal)';
  const { rows } = await client.query<{ wal: string; fsyncs: string }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as wal, ${fsyncs}::text as fsyncs`,
  );
  return { ...cpu, wal: Number(rows[0]?.wal), fsyncs: Number(rows[0]?.fsyncs) };
}
