import type { Client } from 'pg';
import { withClient, type BenchCluster, type BenchDatabase } from './cluster.ts';
import { runLoad } from './load/index.ts';
import type { LoadOrder, LoadResult } from './load/protocol.ts';
import { cpuSecondsOf, cpuSecondsOfTree, residentMegabytes } from './processes.ts';

/** One measured phase: what the load saw and what it cost. */
export interface Measurement extends LoadResult {
  /** CPU seconds per thousand accepted requests; NaN where there is no such process. */
  readonly serviceCpu: number;
  readonly databaseCpu: number;
  readonly walBytes: number;
  readonly fsyncs: number;
  /** Largest resident memory of the service's process, MB. */
  readonly residentMegabytes: number;
}

/** How often memory is looked at, ms. */
const LOOK_MS = 250;

interface Counters {
  readonly service: number;
  readonly database: number;
  readonly wal: number;
  readonly fsyncs: number;
}

/** Runs a load and measures what the service (if there is one) and the database spend on it. */
export async function measure(
  cluster: BenchCluster,
  database: BenchDatabase,
  order: LoadOrder,
  servicePid?: number,
): Promise<Measurement> {
  return withClient(database.ownerUrl, async (client) => {
    const read = (): Promise<Counters> => readCounters(client, cluster, servicePid);
    let before: Promise<Counters> | undefined;
    let largest = Number.NaN;
    const looking = setInterval(() => {
      if (servicePid === undefined || before === undefined) return;
      const now = residentMegabytes(servicePid);
      if (!(now <= largest)) largest = now;
    }, LOOK_MS);
    try {
      const result = await runLoad(order, () => {
        before = read();
      });
      const [from, to] = [await before, await read()];
      const per = (what: keyof Counters): number =>
        from === undefined ? Number.NaN : (to[what] - from[what]) / result.accepted;
      return {
        ...result,
        serviceCpu: per('service') * 1000,
        databaseCpu: per('database') * 1000,
        walBytes: per('wal'),
        fsyncs: per('fsyncs'),
        residentMegabytes: largest,
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
  const cpu = {
    service: service === undefined ? Number.NaN : cpuSecondsOf(service),
    database: cpuSecondsOfTree(cluster.pid),
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
