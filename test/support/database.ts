import { setTimeout as sleep } from 'node:timers/promises';
import type { QueryResultRow } from 'pg';
import { Client, Pool } from 'pg';
import { createDatabase, restrictDatabase } from '../../server/embedded-postgres/roles.ts';
import { atEndOfRun } from './cleanups.ts';
import type { TestCluster } from './cluster.ts';
import { testCluster } from './cluster.ts';

/** A database of its own for one test file or one test. */
export interface TestDatabase {
  readonly name: string;
  /** As the role that owns the database and its tables. */
  readonly ownerUrl: string;
  /** As the application's role. */
  readonly appUrl: string;
  /** Runs one statement as the owner, outside a transaction, and returns its rows. */
  readonly query: <Row extends QueryResultRow = Record<string, unknown>>(
    sql: string,
    params?: readonly unknown[],
  ) => Promise<Row[]>;
  /** Removes the database. @throws Error naming the sessions that the test has left open on it */
  readonly drop: () => Promise<void>;
}

/** Sessions that are just being closed get this long; one that is still there was forgotten. */
const CLOSING_MS = 2_000;

const run = `trk_test_${process.pid}_${Date.now().toString(36)}`;
let count = 0;
let template: Promise<string> | undefined;

/**
 * Makes a database, migrated unless asked otherwise. Migrated ones are clones of one template that is migrated once per
 * run. The first call of a run also starts the server (about a second). What is not dropped by the test is dropped at
 * the end of the run.
 */
export async function createTestDatabase(
  options: { migrated?: boolean } = {},
): Promise<TestDatabase> {
  const cluster = await testCluster();
  const migrated = options.migrated ?? true;
  const source = migrated ? await (template ??= createTemplate(cluster)) : undefined;
  count += 1;
  const name = `${run}_${count}`;
  await withAdmin(cluster, async (admin) => {
    const from = source === undefined ? {} : { template: source };
    await createDatabase(admin, { name, owner: cluster.ownerRole, ...from });
    await restrictDatabase(admin, name, cluster.appRole);
  });
  const ownerUrl = cluster.ownerUrl(name);
  const pool = new Pool({ connectionString: ownerUrl, max: 2, application_name: 'test query' });
  // Tests that kill sessions hit this one too; the next query reports what matters.
  pool.on('error', () => undefined);
  let dropping: Promise<void> | undefined;
  const drop = async () => {
    dropping ??= pool.end().then(async () => dropDatabase(cluster, name));
    await dropping;
  };
  atEndOfRun(async () => {
    // A drop that has failed was reported where the test called it.
    if (dropping === undefined) await drop();
  });
  return {
    name,
    ownerUrl,
    appUrl: cluster.appUrl(name),
    async query<Row extends QueryResultRow>(sql: string, params: readonly unknown[] = []) {
      return (await pool.query<Row>(sql, [...params])).rows;
    },
    drop,
  };
}

async function createTemplate(cluster: TestCluster): Promise<string> {
  const name = `${run}_template`;
  await withAdmin(cluster, async (admin) => {
    await createDatabase(admin, { name, owner: cluster.ownerRole });
    await restrictDatabase(admin, name, cluster.appRole);
  });
  atEndOfRun(async () => dropDatabase(cluster, name));
  // Imported here, so that tests of unmigrated databases do not need it.
  const { migrateDatabase } = await import('../../server/migrate.ts');
  await migrateDatabase({ ownerUrl: cluster.ownerUrl(name), appUrl: cluster.appUrl(name) });
  // A database with sessions cannot be cloned.
  await withAdmin(cluster, async (admin) => refuseOpenSessions(admin, name));
  return name;
}

async function dropDatabase(cluster: TestCluster, name: string): Promise<void> {
  await withAdmin(cluster, async (admin) => {
    try {
      await refuseOpenSessions(admin, name);
    } finally {
      await admin.query(`DROP DATABASE IF EXISTS ${admin.escapeIdentifier(name)} WITH (FORCE)`);
    }
  });
}

async function refuseOpenSessions(admin: Client, name: string): Promise<void> {
  const deadline = performance.now() + CLOSING_MS;
  for (;;) {
    const { rows } = await admin.query<{ application_name: string; query: string }>(
      `SELECT application_name, left(query, 80) AS query FROM pg_stat_activity
        WHERE datname = $1 AND backend_type = 'client backend'`,
      [name],
    );
    if (rows.length === 0) return;
    if (performance.now() > deadline) {
      const names = rows.map((row) => `"${row.application_name}" (last: ${row.query})`);
      throw new Error(`${rows.length} session(s) left open on ${name}: ${names.join(', ')}`);
    }
    await sleep(20);
  }
}

async function withAdmin<Result>(
  cluster: TestCluster,
  work: (admin: Client) => Promise<Result>,
): Promise<Result> {
  const admin = new Client({ connectionString: cluster.adminUrl });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}
