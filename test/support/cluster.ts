import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../server/embedded-postgres/index.ts';
import { atEndOfRun } from './cleanups.ts';
import { makeTemporaryDirectory, removeAbandoned } from './temporary.ts';

/** The server of a test run, and the two roles every test database is made for. */
export interface TestCluster {
  /** A superuser on the database `postgres`. */
  readonly adminUrl: string;
  readonly ownerRole: string;
  readonly appRole: string;
  readonly ownerUrl: (database: string) => string;
  readonly appUrl: (database: string) => string;
}

let cluster: Promise<TestCluster> | undefined;

/**
 * The server of this run, started on first use: an embedded one in a temporary directory, or the one that
 * TEST_DATABASE_URL (a superuser's URL) names. Stopped, or its roles dropped, at the end of the run.
 */
export function testCluster(): Promise<TestCluster> {
  const url = process.env['TEST_DATABASE_URL'];
  cluster ??= url === undefined || url === '' ? startEmbedded() : prepareExternal(url);
  return cluster;
}

async function startEmbedded(): Promise<TestCluster> {
  await removeAbandoned();
  const directory = makeTemporaryDirectory();
  atEndOfRun(async () => rmSync(directory, { recursive: true, force: true }));
  const server = await startEmbeddedPostgres({
    dataDir: directory,
    log: () => undefined,
    // Nothing here must outlive a power failure, and every database is one made for a test.
    extraSettings: { fsync: 'off', full_page_writes: 'off', max_connections: '200' },
  });
  atEndOfRun(async () => server.stop());
  return {
    adminUrl: onDatabase(server.ownerUrl, 'postgres'),
    ownerRole: new URL(server.ownerUrl).username,
    appRole: new URL(server.appUrl).username,
    ownerUrl: (database) => onDatabase(server.ownerUrl, database),
    appUrl: (database) => onDatabase(server.appUrl, database),
  };
}

/** Here the owner is no superuser, as in a managed PostgreSQL; the embedded server covers the other case. */
async function prepareExternal(adminUrl: string): Promise<TestCluster> {
  const run = randomBytes(4).toString('hex');
  const roles = [`trk_owner_${run}`, `trk_app_${run}`] as const;
  const passwords = roles.map(() => randomBytes(16).toString('hex'));
  const admin = new Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    for (const [index, role] of roles.entries()) {
      await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD '${passwords[index]}'`);
    }
  } finally {
    await admin.end();
  }
  atEndOfRun(async () => {
    const last = new Client({ connectionString: adminUrl });
    await last.connect();
    try {
      await last.query(`DROP ROLE ${roles.join(', ')}`);
    } finally {
      await last.end();
    }
  });
  const urlFor = (index: 0 | 1, database: string) => {
    const url = new URL(onDatabase(adminUrl, database));
    url.username = roles[index];
    url.password = passwords[index] ?? '';
    return url.href;
  };
  return {
    adminUrl,
    ownerRole: roles[0],
    appRole: roles[1],
    ownerUrl: (database) => urlFor(0, database),
    appUrl: (database) => urlFor(1, database),
  };
}

function onDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
