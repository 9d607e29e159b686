import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BackupError } from './backup-error.ts';

/** Names of the two files beside the tables'. The sums are in the form of `sha256sum -c`. */
export const MANIFEST_FILE = 'manifest.json';
export const SUMS_FILE = 'SHA256SUMS';

const Name = z.string().regex(/^[a-z_][a-z0-9_]*$/);
const Schema = z.enum(['public', 'pgboss']);
const Integer = z.string().regex(/^-?\d+$/);

/** One table: its columns in the order of the file, and how many rows there are. */
const BackupTable = z.strictObject({
  schema: Schema,
  name: Name,
  columns: z.array(Name).min(1),
  rows: z.int().min(0),
  file: z.string().regex(/^(public|pgboss)\.[a-z0-9_]+\.copy\.zst$/),
});

/** What a backup consists of and what it needs to be read again. */
export const Manifest = z.strictObject({
  format: z.literal(1),
  made_at: z.iso.datetime(),
  service_version: z.string(),
  postgres_version: z.string(),
  /** Names of the migrations that the schema had, oldest first. */
  migrations: z.array(z.string()).min(1),
  /** Version of pg-boss's own schema. */
  queue_version: z.int(),
  queues: z.array(z.strictObject({ name: z.string(), policy: z.string(), partition: z.boolean() })),
  /** Days (YYYYMMDD) that had partitions of their own. */
  days: z.array(z.string().regex(/^\d{8}$/)),
  /** In an order in which each can be filled: what is referred to comes first. */
  tables: z.array(BackupTable),
  sequences: z.array(
    z.strictObject({ schema: Schema, name: Name, last_value: Integer, is_called: z.boolean() }),
  ),
});
/** What a backup consists of. */
export type Manifest = z.infer<typeof Manifest>;
/** One table of a backup. */
export type BackupTable = z.infer<typeof BackupTable>;

/** SHA-256 of each file of a backup, in hexadecimal. */
export type Sums = ReadonlyMap<string, string>;

/** The text of {@link SUMS_FILE}. */
export const writeSums = (sums: Sums): string =>
  [...sums].map(([file, sum]) => `${sum}  ${file}\n`).join('');

/** Reads what a folder holds. @throws BackupError where it is no complete backup */
export async function readManifest(folder: string): Promise<{ manifest: Manifest; sums: Sums }> {
  const [text, sumsText] = await Promise.all([
    readFile(join(folder, MANIFEST_FILE)),
    readFile(join(folder, SUMS_FILE), 'utf8'),
  ]).catch((error: unknown): never => {
    throw new BackupError(
      `${folder} is not a complete backup (${MANIFEST_FILE} or ${SUMS_FILE} cannot be read); name the folder that npm run backup told.`,
      { cause: error },
    );
  });
  const sums = new Map(
    sumsText
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => [line.slice(66), line.slice(0, 64)] as const),
  );
  if (createHash('sha256').update(text).digest('hex') !== sums.get(MANIFEST_FILE)) {
    throw new BackupError(
      `${MANIFEST_FILE} is damaged: its checksum is wrong; use another backup.`,
    );
  }
  const parsed = Manifest.safeParse(JSON.parse(text.toString('utf8')));
  if (!parsed.success) {
    throw new BackupError(
      `${MANIFEST_FILE} is of another form than this version knows; restore with the version of the service that made it.`,
    );
  }
  return { manifest: parsed.data, sums };
}
