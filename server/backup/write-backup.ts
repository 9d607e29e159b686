import { createHash } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { Client } from 'pg';
import { BackupError } from './backup-error.ts';
import {
  estimateRows,
  findTables,
  nameOf,
  readDays,
  readSequences,
  readVersions,
  type FoundTable,
} from './catalog.ts';
import { copyOut } from './copy-stream.ts';
import {
  MANIFEST_FILE,
  SUMS_FILE,
  writeSums,
  type BackupTable,
  type Manifest,
} from './manifest.ts';

/** What a backup is made from and where it goes. */
export interface BackupOptions {
  readonly ownerUrl: string;
  /** A folder that does not exist yet. */
  readonly folder: string;
  readonly serviceVersion: string;
  readonly now: number;
  /** A line for a person, as each table begins. */
  readonly tell: (line: string) => void;
}

/** What was made. */
export interface BackupResult {
  readonly folder: string;
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Writes the whole database as of one instant: every table of the service and of its queue by COPY, compressed, one file
 * each, with counts and checksums. The service goes on working. Memory is bounded whatever the size of the tables.
 *
 * The files hold payloads and hashes of keys: mode 0600. They hold no API key, no operator token and no SECRETS_KEY.
 * A folder without `.partial` at the end of its name is complete and on disk.
 *
 * @throws BackupError, or what the database or the disk throws; nothing is left then
 */
export async function writeBackup(options: BackupOptions): Promise<BackupResult> {
  const folder = resolve(options.folder);
  const partial = `${folder}.partial`;
  if (existsSync(folder) || existsSync(partial)) {
    throw new BackupError(`${folder} (or ${partial}) exists already; name another folder.`);
  }
  await mkdir(dirname(folder), { recursive: true });
  await mkdir(partial, { mode: 0o700 });
  try {
    const result = await writeInto(partial, options);
    await rename(partial, folder);
    await sync(dirname(folder));
    return { folder, ...result };
  } catch (error: unknown) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

async function writeInto(
  folder: string,
  options: BackupOptions,
): Promise<Omit<BackupResult, 'folder'>> {
  const client = new Client({
    connectionString: options.ownerUrl,
    application_name: 'transaction-risk backup',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await prepare(client);
    const versions = await readVersions(client);
    const days = await readDays(client);
    const tables: BackupTable[] = [];
    const sums = new Map<string, string>();
    let bytes = 0;
    for (const table of await findTables(client)) {
      const estimate = await estimateRows(client, table);
      options.tell(
        `${table.schema}.${table.name}${estimate === 0 ? '' : ` (about ${estimate} rows)`}`,
      );
      const written = await writeTable(client, folder, table);
      tables.push(written.table);
      sums.set(written.table.file, written.sha256);
      bytes += written.bytes;
    }
    const manifest: Manifest = {
      format: 1,
      made_at: new Date(options.now).toISOString(),
      service_version: options.serviceVersion,
      ...versions,
      days,
      tables,
      sequences: await readSequences(client),
    };
    await client.query('commit');
    const text = `${JSON.stringify(manifest, null, 1)}\n`;
    sums.set(MANIFEST_FILE, createHash('sha256').update(text).digest('hex'));
    await writeSynced(join(folder, MANIFEST_FILE), text);
    await writeSynced(join(folder, SUMS_FILE), writeSums(sums));
    await sync(folder);
    return { rows: tables.reduce((total, { rows }) => total + rows, 0), bytes };
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** One snapshot for everything, and values written in one way whatever the server's settings are. */
async function prepare(client: Client): Promise<void> {
  const { rows } = await client.query<{ found: boolean }>(
    `select to_regclass('public.schema_migration') is not null and to_regclass('pgboss.version') is not null as found`,
  );
  if (rows[0]?.found !== true) {
    throw new BackupError(
      'The database holds no data of this service; there is nothing to back up.',
    );
  }
  for (const setting of [
    `statement_timeout = 0`,
    `idle_in_transaction_session_timeout = 0`,
    `datestyle = 'ISO, YMD'`,
    `intervalstyle = 'postgres'`,
    `timezone = 'UTC'`,
    `extra_float_digits = 3`,
    `bytea_output = 'hex'`,
    `client_encoding = 'UTF8'`,
  ]) {
    await client.query(`set ${setting}`);
  }
  await client.query('begin isolation level repeatable read read only');
}

async function writeTable(
  client: Client,
  folder: string,
  table: FoundTable,
): Promise<{ table: BackupTable; sha256: string; bytes: number }> {
  const file = `${table.schema}.${table.name}.copy.zst`;
  const columns = table.columns.map((column) => `"${column}"`).join(', ');
  // A query and not the table: that alone reads a partitioned one as a whole.
  const rows = copyOut(client, `copy (select ${columns} from ${nameOf(table)}) to stdout`);
  const hash = createHash('sha256');
  let bytes = 0;
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  const target = createWriteStream(join(folder, file), { mode: 0o600, flags: 'wx', flush: true });
  await pipeline(rows, createZstdCompress(COMPRESSION), measure, target);
  return {
    table: { ...table, columns: [...table.columns], rows: rows.rows, file },
    sha256: hash.digest('hex'),
    bytes,
  };
}

/** Level 3 reads faster than the database writes; the checksum lets `zstd -t` find damage as well. */
const COMPRESSION = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 3,
    [constants.ZSTD_c_checksumFlag]: 1,
  },
};

async function writeSynced(path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600, flag: 'wx', flush: true });
}

async function sync(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
