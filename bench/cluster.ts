import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../server/embedded-postgres/index.ts';
import { createDatabase, restrictDatabase } from '../server/embedded-postgres/roles.ts';
import { migrateDatabase } from '../server/migrate.ts';
import type { LoadCredential } from './load/protocol.ts';
import { seedSites } from './sites.ts';

/** A database of its own for one round. Both URLs hold passwords: never print them. */
export interface BenchDatabase {
  readonly ownerUrl: string;
  readonly appUrl: string;
  drop(): Promise<void>;
}

/** The server of a run: the embedded PostgreSQL as the service runs it, durable commits included. */
export interface BenchCluster {
  readonly pid: number;
  readonly version: string;
  readonly credentials: readonly LoadCredential[];
  readonly sites: number;
  /** A copy of the migrated template with its Sites and credentials, and an empty ledger. */
  clone(): Promise<BenchDatabase>;
  stop(): Promise<void>;
}

/** What the load needs: each credential may send 120 requests a minute, so this many carry 12,000 per second. */
const CREDENTIALS = 6_000;
const SITES = 20;

const TEMPLATE = 'bench_template';

/** Starts an embedded server in a temporary directory and prepares the template. */
export async function startCluster(): Promise<BenchCluster> {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), 'transaction-risk-bench-'));
  // Root's server runs as another user, who must be able to pass.
  chmodSync(directory, 0o711);
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  const server = await startEmbeddedPostgres({ dataDir: directory, log: () => undefined }).catch(
    (error: unknown) => {
      remove();
      throw error;
    },
  );
  const stop = async (): Promise<void> => {
    await server.stop();
    remove();
  };
  const on = (url: string, database: string): string => {
    const changed = new URL(url);
    changed.pathname = `/${database}`;
    return changed.href;
  };
  const ownerRole = new URL(server.ownerUrl).username;
  const appRole = new URL(server.appUrl).username;
  const withAdmin = (work: (admin: Client) => Promise<void>): Promise<void> =>
    withClient(on(server.ownerUrl, 'postgres'), work);
  let count = 0;
  try {
    await withAdmin(async (admin) => {
      await createDatabase(admin, { name: TEMPLATE, owner: ownerRole });
      await restrictDatabase(admin, TEMPLATE, appRole);
    });
    const urls = { ownerUrl: on(server.ownerUrl, TEMPLATE), appUrl: on(server.appUrl, TEMPLATE) };
    await migrateDatabase(urls);
    let credentials: LoadCredential[] = [];
    let version = '';
    await withClient(urls.ownerUrl, async (owner) => {
      credentials = await seedSites(owner, { sites: SITES, credentials: CREDENTIALS });
      await owner.query('vacuum analyze');
      const { rows } = await owner.query<{ server_version: string }>('show server_version');
      version = rows[0]?.server_version ?? 'unknown';
    });
    return {
      get pid() {
        return server.pid;
      },
      version,
      credentials,
      sites: SITES,
      async clone() {
        count += 1;
        const name = `bench_${count}`;
        await withAdmin(async (admin) => {
          await createDatabase(admin, { name, owner: ownerRole, template: TEMPLATE });
          await restrictDatabase(admin, name, appRole);
          // What earlier rounds left dirty is written now, not in somebody else's measured time.
          await admin.query('checkpoint');
        });
        return {
          ownerUrl: on(server.ownerUrl, name),
          appUrl: on(server.appUrl, name),
          drop: () =>
            withAdmin(
              async (admin) => void (await admin.query(`drop database ${name} with (force)`)),
            ),
        };
      },
      stop,
    };
  } catch (error: unknown) {
    await stop();
    throw error;
  }
}

/** Runs work in one session and ends it. */
export async function withClient<Result>(
  url: string,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: url, application_name: 'bench' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
