import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { Client } from 'pg';
import { MIGRATIONS } from '../../entities/migrations/index.ts';
import { createOrm } from '../../entities/orm.ts';
import { PARTITIONED_TABLES } from '../../entities/tables.ts';
import { createBoss } from '../../jobs/queues.ts';
import { createPartitions } from '../../ledger/partitions.ts';
import { BackupError } from '../backup/backup-error.ts';
import { nameOf } from '../backup/catalog.ts';
import { copyIn } from '../backup/copy-stream.ts';
import { readManifest, type BackupTable, type Manifest, type Sums } from '../backup/manifest.ts';
import { migrateDatabase } from '../migrate.ts';

/** What is restored, and where to. */
export interface RestoreOptions {
  readonly folder: string;
  /** A database without tables. */
  readonly ownerUrl: string;
  readonly appUrl: string;
  readonly backend: 'postgres' | 'citus';
  readonly tell: (line: string) => void;
}

/**
 * Fills an empty database from a backup: the schema as the backup had it, every row in one transaction, then what was
 * migrated since. Each file's checksum and count of rows must be right, or nothing of it is kept.
 *
 * @returns how many rows there are now
 * @throws BackupError with one sentence, or what the database throws; the database is then to be made anew
 */
export async function restoreBackup(options: RestoreOptions): Promise<number> {
  const { manifest, sums } = await readManifest(options.folder);
  refuseNewer(manifest);
  const client = new Client({
    connectionString: options.ownerUrl,
    application_name: 'transaction-risk restore',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await refuseFilled(client);
    options.tell(`Making the schema of ${manifest.migrations.at(-1)}.`);
    await makeSchema(options, manifest);
    await refuseOtherQueue(client, manifest);
    await client.query('begin');
    await empty(client, manifest);
    let rows = 0;
    for (const table of manifest.tables) {
      options.tell(`${table.schema}.${table.name} (${table.rows} rows)`);
      await fill(client, options.folder, table, sums);
      rows += table.rows;
    }
    await setSequences(client, manifest);
    await switchTriggers(client, 'enable');
    await client.query('commit');
    options.tell('Bringing the schema up to date and gathering statistics.');
    await migrateDatabase(options);
    await client.query('analyze');
    return rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** A schema that this program does not know cannot be made by it. */
function refuseNewer(manifest: Manifest): void {
  const known = MIGRATIONS.map(({ name }) => name);
  const unknown = manifest.migrations.find((name, index) => known[index] !== name);
  if (unknown !== undefined) {
    throw new BackupError(
      `The backup has the migration ${unknown}, which this version does not know; restore with version ${manifest.service_version} of the service or a newer one.`,
    );
  }
}

async function refuseFilled(client: Client): Promise<void> {
  const { rows } = await client.query<{ tables: string }>(
    `select count(*) as tables from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where nspname in ('public', 'pgboss') and relkind in ('r', 'p')
       and not exists (select 1 from pg_depend where objid = pg_class.oid and deptype = 'e')`,
  );
  if (rows[0]?.tables !== '0') {
    throw new BackupError(
      'The database has tables already; restore into an empty one: a new DATA_DIR, or a database made anew.',
    );
  }
}

/** pg-boss makes its tables itself, in one version only. */
async function refuseOtherQueue(client: Client, manifest: Manifest): Promise<void> {
  const { rows } = await client.query<{ version: number }>('select version from pgboss.version');
  if (rows[0]?.version !== manifest.queue_version) {
    throw new BackupError(
      `The backup's queue has version ${manifest.queue_version} and this program makes ${rows[0]?.version}; restore with version ${manifest.service_version} of the service, then upgrade.`,
    );
  }
}

/** The tables as they were when the backup was made, with a table for each queue and day that had one. */
async function makeSchema(options: RestoreOptions, manifest: Manifest): Promise<void> {
  const orm = createOrm({
    url: options.ownerUrl,
    poolSize: 1,
    applicationName: 'transaction-risk restore',
    statementTimeoutMs: 0,
  });
  try {
    const last = manifest.migrations.at(-1) ?? '';
    await orm.migrator.up({ to: last });
    const had = new Set(manifest.tables.map(({ name }) => name));
    const tables = PARTITIONED_TABLES.filter(({ table }) => had.has(table));
    const db = orm.em.fork().getKysely();
    for (const day of manifest.days) {
      const at = Date.parse(`${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}T00:00:00Z`);
      await createPartitions(db, at, 1, tables);
    }
  } finally {
    await orm.close(true);
  }
  const boss = createBoss({
    url: options.ownerUrl,
    backend: options.backend,
    applicationName: 'transaction-risk restore',
    supervise: false,
    migrate: true,
    onError: () => undefined,
  });
  try {
    await boss.start();
    // Only for the tables: the rows that say how each queue is set come from the backup.
    for (const { name, partition } of manifest.queues) {
      if (partition) await boss.createQueue(name, { partition });
    }
  } finally {
    await boss.stop({ graceful: false });
  }
}

/** What migrations and the queue wrote by themselves makes room; triggers would count and refuse, so they rest. */
async function empty(client: Client, manifest: Manifest): Promise<void> {
  await switchTriggers(client, 'disable');
  for (const table of manifest.tables.toReversed()) {
    await client.query(`delete from ${nameOf(table)}`);
  }
}

async function switchTriggers(client: Client, how: 'enable' | 'disable'): Promise<void> {
  const { rows } = await client.query<{ schema: 'public'; name: string }>(
    `select nspname as schema, relname as name from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where nspname = 'public' and relkind in ('r', 'p') and not relispartition`,
  );
  for (const row of rows) await client.query(`alter table ${nameOf(row)} ${how} trigger user`);
}

async function fill(client: Client, folder: string, table: BackupTable, sums: Sums): Promise<void> {
  const hash = createHash('sha256');
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  const columns = table.columns.map((column) => `"${column}"`).join(', ');
  const rows = copyIn(client, `copy ${nameOf(table)} (${columns}) from stdin`);
  try {
    await pipeline(
      createReadStream(join(folder, table.file)),
      measure,
      createZstdDecompress(),
      rows,
    );
  } catch (error: unknown) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'ENOENT' || code.startsWith('ZSTD') || code.startsWith('Z_')) {
      throw damaged(table.file, error);
    }
    throw error;
  }
  if (hash.digest('hex') !== sums.get(table.file) || rows.rows !== table.rows) {
    throw damaged(table.file);
  }
}

const damaged = (file: string, cause?: unknown): BackupError =>
  new BackupError(
    `${file} is missing or damaged (its checksum or count of rows is wrong); nothing was restored. Use another backup.`,
    { cause },
  );

async function setSequences(client: Client, manifest: Manifest): Promise<void> {
  for (const { schema, name, last_value: value, is_called: called } of manifest.sequences) {
    await client.query('select setval($1::regclass, $2::bigint, $3)', [
      nameOf({ schema, name }),
      value,
      called,
    ]);
  }
}
