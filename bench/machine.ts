import { availableParallelism, cpus, totalmem } from 'node:os';
import type { BenchCluster } from './cluster.ts';

/** What a reader needs to compare figures; nothing that names this machine or its folders. */
export function machineLines(cluster: BenchCluster, command: string): string[] {
  const model = cpus()[0]?.model.trim() ?? 'unknown';
  return [
    `${new Date().toISOString().slice(0, 10)}, \`${command}\``,
    `Machine: ${availableParallelism()} cores (${model}), ${Math.round(totalmem() / 2 ** 30)} GiB of memory, for database, service and load together`,
    `PostgreSQL ${cluster.version} (embedded, fsync on), Node ${process.version}`,
  ];
}
