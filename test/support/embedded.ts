import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { QueryResultRow } from 'pg';
import { Client } from 'pg';
import type { EmbeddedPostgres } from '../../server/embedded-postgres/index.ts';
import {
  EmbeddedPostgresError,
  startEmbeddedPostgres,
} from '../../server/embedded-postgres/index.ts';
import type { ServiceProcess } from './service-process.ts';
import { startService } from './service-process.ts';
import { makeTemporaryDirectory } from './temporary.ts';

/** Runs one statement in a session of its own. */
export async function query<Row extends QueryResultRow = Record<string, unknown>>(
  url: string,
  sql: string,
): Promise<Row[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Starts the database in this process; what it logs goes to `lines`. */
export async function start(dataDir: string, lines: string[] = []): Promise<EmbeddedPostgres> {
  return await startEmbeddedPostgres({ dataDir, log: (line) => lines.push(line) });
}

/** The sentence with which a start is refused. @throws where it is not, or where it is not a sentence */
export async function refusalOf(dataDir: string): Promise<string> {
  try {
    await (await start(dataDir)).stop();
  } catch (error: unknown) {
    expect(error).to.be.instanceOf(EmbeddedPostgresError);
    const { message } = error as EmbeddedPostgresError;
    expect(message).to.match(/^[A-Z/][^\n]*\.$/);
    return message;
  }
  throw new Error('the start was not refused');
}

/** A DATA_DIR for the tests of one file, and the separate services they start on it. */
export interface EmbeddedFixture {
  /** A temporary directory for DATA_DIRs of single tests. */
  readonly root: string;
  /** The shared DATA_DIR: its database has a table `kept` with one row, `answer` 42. */
  readonly dataDir: string;
  /** A path in `postgres` of the shared DATA_DIR. */
  readonly inHome: (name: string) => string;
  /** Starts a service in another process, stopped after the test if it still runs. */
  readonly service: typeof startService;
  /** The same, for one that must become the owner. */
  readonly owner: (
    ...args: Parameters<typeof startService>
  ) => Promise<ServiceProcess & { readonly pid: number; readonly url: string }>;
}

/** Sets up an {@link EmbeddedFixture} around the tests of the `describe` that calls it. */
export function embeddedFixture(): EmbeddedFixture {
  const root = makeTemporaryDirectory();
  const dataDir = join(root, 'shared');
  let services: ServiceProcess[] = [];
  const service = async (...args: Parameters<typeof startService>) => {
    const started = await startService(...args);
    services.push(started);
    return started;
  };

  before(async () => {
    const server = await start(dataDir);
    await query(server.ownerUrl, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await server.stop();
  });

  afterEach(async () => {
    for (const started of services) await started.stop();
    services = [];
  });

  after(async () => {
    // Adopts and stops what a failed test has left running.
    await (await start(dataDir)).stop();
    rmSync(root, { recursive: true, force: true });
  });

  return {
    root,
    dataDir,
    inHome: (name) => join(dataDir, 'postgres', name),
    service,
    async owner(...args) {
      const started = await service(...args);
      if (started.first.event !== 'ready') throw new Error(JSON.stringify(started.first));
      return { ...started, pid: started.first.pid, url: started.first.ownerUrl };
    },
  };
}
