import { Client } from 'pg';
import { createOrm } from '../entities/orm.ts';
import { MIGRATIONS } from '../entities/migrations/index.ts';
import { APPEND_ONLY_TABLES, MUTABLE_TABLES } from '../entities/tables.ts';
import { createBoss, createQueues, limitJobStatistics } from '../jobs/queues.ts';
import { createPartitions } from '../ledger/partitions.ts';

/** The database cannot be used as it is; the message says what to do. Waiting does not help. */
export class MigrationRefused extends Error {
  override name = 'MigrationRefused';
}

/** One number for all processes: whoever holds it migrates, the others wait and find nothing to do. */
const MIGRATION_LOCK = 7_218_301;

/** Days of partitions kept ready, so that a day's first event never waits for DDL. */
export const PARTITION_DAYS_AHEAD = 7;

/** What a migration needs. The application's role is granted what it uses where it differs from the owner. */
export interface MigrateOptions {
  readonly ownerUrl: string;
  readonly appUrl: string;
  readonly backend?: 'postgres' | 'citus';
}

/**
 * Brings the schema, the queues, the partitions and the grants up to date, under an advisory lock: several processes
 * may start at once. Safe to repeat.
 *
 * @throws MigrationRefused when the schema is newer than this program or the server's version is not supported;
 *   otherwise what the database throws, and a later try may succeed
 */
export async function migrateDatabase(options: MigrateOptions): Promise<void> {
  const lock = new Client({
    connectionString: options.ownerUrl,
    connectionTimeoutMillis: 2_000,
    application_name: 'transaction-risk migrate',
  });
  lock.on('error', () => undefined);
  await lock.connect();
  try {
    await refuseUnsupportedServer(lock);
    await lock.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await refuseNewerSchema(lock);
    await migrateSchema(options);
    await installQueues(options);
    if (options.backend !== 'citus') await limitJobStatistics(lock);
    await grantToApplication(lock, options);
  } finally {
    await lock.end().catch(() => undefined);
  }
}

async function refuseUnsupportedServer(client: Client): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string }>('show server_version_num');
  const major = Math.floor(Number(rows[0]?.server_version_num ?? 0) / 10_000);
  if (major < 15 || major > 18) {
    throw new MigrationRefused(
      `The database server is PostgreSQL ${major}; use a server of version 15 to 18.`,
    );
  }
}

async function refuseNewerSchema(client: Client): Promise<void> {
  const { rows: found } = await client.query<{ found: boolean }>(
    "select to_regclass('schema_migration') is not null as found",
  );
  if (found[0]?.found !== true) return;
  const { rows } = await client.query<{ name: string }>('select name from schema_migration');
  const known = new Set(MIGRATIONS.map((migration) => migration.name));
  const unknown = rows.map((row) => row.name).filter((name) => !known.has(name));
  if (unknown.length > 0) {
    throw new MigrationRefused(
      `The database has the migration ${unknown.sort().at(-1)}, which this version does not know; start the newer version that made it.`,
    );
  }
}

async function migrateSchema(options: MigrateOptions): Promise<void> {
  const orm = createOrm({
    url: options.ownerUrl,
    poolSize: 1,
    applicationName: 'transaction-risk migrate',
    statementTimeoutMs: 0,
  });
  try {
    await orm.migrator.up();
    await createPartitions(orm.em.fork().getKysely(), Date.now(), PARTITION_DAYS_AHEAD);
  } finally {
    await orm.close(true);
  }
}

async function installQueues(options: MigrateOptions): Promise<void> {
  const boss = createBoss({
    url: options.ownerUrl,
    backend: options.backend ?? 'postgres',
    applicationName: 'transaction-risk migrate',
    supervise: false,
    migrate: true,
    onError: () => undefined,
  });
  try {
    await boss.start();
    await createQueues(boss);
  } finally {
    await boss.stop({ graceful: false });
  }
}

/** Append-only tables are read and inserted into, no more: the second guard beside the triggers. */
async function grantToApplication(client: Client, options: MigrateOptions): Promise<void> {
  const app = decodeURIComponent(new URL(options.appUrl).username);
  const owner = decodeURIComponent(new URL(options.ownerUrl).username);
  if (app === '' || app === owner) return;
  const role = client.escapeIdentifier(app);
  await client.query('begin');
  await client.query(`grant usage on schema public to ${role}`);
  await client.query(`grant select on schema_migration to ${role}`);
  await client.query(`grant select, insert on ${APPEND_ONLY_TABLES.join(', ')} to ${role}`);
  await client.query(
    `grant select, insert, update, delete on ${MUTABLE_TABLES.join(', ')} to ${role}`,
  );
  await client.query(`grant usage, select on all sequences in schema public to ${role}`);
  await client.query(`grant usage on schema pgboss to ${role}`);
  await client.query(
    `grant select, insert, update, delete on all tables in schema pgboss to ${role}`,
  );
  await client.query(`grant usage, select on all sequences in schema pgboss to ${role}`);
  await client.query(`grant execute on all functions in schema pgboss to ${role}`);
  await client.query('commit');
}
