import type { BenchDatabase } from './cluster.ts';
import type { ReferenceWrites, Target } from './load/protocol.ts';
import { startPeer } from './peer.ts';
import { startService, type ServerProcess } from './service-process.ts';

/** A way of accepting events, as one row of a table. */
export interface Way {
  readonly name: string;
  /** Takes part only in the last round: reported, not compared. */
  readonly once?: boolean;
  start(database: BenchDatabase): Promise<RunningWay>;
}

/** A way that can be called. */
export interface RunningWay {
  readonly target: Target;
  /** Process whose CPU and memory are the way's own; absent for bare database clients. */
  readonly pid?: number;
  stop(): Promise<void>;
}

const running = (server: ServerProcess): RunningWay => ({
  target: { kind: 'http', port: server.port },
  pid: server.pid,
  stop: () => server.stop(),
});

const reference = (name: string, writes: ReferenceWrites): Way => ({
  name,
  start: (database) =>
    Promise.resolve({
      target: { kind: 'postgres', url: database.appUrl, writes },
      stop: () => Promise.resolve(),
    }),
});

const service = (
  name: string,
  role: 'api' | 'all',
  logLevel: 'warn' | 'info' = 'warn',
  once = false,
): Way => ({
  name,
  once,
  start: async (database) => running(await startService({ ...database, role, logLevel })),
});

/** The ways that scenarios put side by side. */
export const WAYS = {
  /** The gate: ledger row, usage and job, one transaction per event. */
  reference: reference('reference: ledger, usage, job', 'plain'),
  /** The strongest form of the same: all three in one statement, so neither round trips nor a transaction block. */
  referenceSingle: reference('reference: the same, one statement', 'single'),
  /** All that the service writes: with idempotency key and payload. */
  referenceFull: reference('reference: all five writes', 'full'),
  peer: {
    name: 'peer: Fastify + pg, HTTP',
    start: async (database: BenchDatabase) => running(await startPeer(database.appUrl)),
  },
  api: service('service, ROLE=api', 'api'),
  all: service('service, ROLE=all', 'all'),
  apiInfo: service('service, ROLE=api, log level info', 'api', 'info', true),
} as const satisfies Record<string, Way>;
