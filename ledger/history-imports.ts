import { run, type Db } from './database.ts';
import type { TaskState } from './tasks.ts';

/** One file on its way into a Site's ledger. Times in ms since 1970 UTC. */
export interface HistoryImport {
  readonly id: bigint;
  readonly siteId: bigint;
  readonly siteCode: string;
  readonly credentialId: bigint;
  /** Names the content, as hex. */
  readonly contentHash: string;
  /** Received so far, and how many of them were refused. */
  readonly lines: number;
  readonly refused: number;
  /** What brings it into the ledger; null while lines are still received. */
  readonly taskId: bigint | null;
  readonly taskState: TaskState | null;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly endedAt: number | null;
}

interface ImportRow {
  id: string;
  site_id: string;
  code: string;
  credential_id: string;
  content_hash: Buffer;
  lines: string;
  refused: string;
  task_id: string | null;
  task_state: TaskState | null;
  created_by: string;
  created_at: string;
  ended_at: string | null;
}

const IMPORTS = `select import.id, import.site_id, site.code, import.credential_id, import.content_hash, import.lines, import.refused,
    import.task_id, task.state as task_state, import.created_by,
    (extract(epoch from import.created_at) * 1000)::bigint as created_at,
    (extract(epoch from import.ended_at) * 1000)::bigint as ended_at
  from history_import import
  join site on site.id = import.site_id
  left join task on task.id = import.task_id`;

const importOf = (row: ImportRow): HistoryImport => ({
  id: BigInt(row.id),
  siteId: BigInt(row.site_id),
  siteCode: row.code,
  credentialId: BigInt(row.credential_id),
  contentHash: row.content_hash.toString('hex'),
  lines: Number(row.lines),
  refused: Number(row.refused),
  taskId: row.task_id === null ? null : BigInt(row.task_id),
  taskState: row.task_state,
  createdBy: row.created_by,
  createdAt: Number(row.created_at),
  endedAt: row.ended_at === null ? null : Number(row.ended_at),
});

/** One import; undefined where there is none. `lock`: nobody else changes it until the transaction ends. */
export async function findImport(
  db: Db,
  id: bigint,
  lock: 'lock' | 'read' = 'read',
): Promise<HistoryImport | undefined> {
  const { rows } = await run<ImportRow>(
    db,
    `${IMPORTS} where import.id = $1${lock === 'lock' ? ' for update of import' : ''}`,
    [id],
  );
  return rows[0] === undefined ? undefined : importOf(rows[0]);
}

/** The Site's import of this content that has not ended; undefined where there is none. Locked. */
export async function findOpenImport(
  db: Db,
  siteId: bigint,
  contentHash: string,
): Promise<HistoryImport | undefined> {
  const { rows } = await run<ImportRow>(
    db,
    `${IMPORTS} where import.site_id = $1 and import.content_hash = $2::bytea and import.ended_at is null
     for update of import`,
    [siteId, Buffer.from(contentHash, 'hex')],
  );
  return rows[0] === undefined ? undefined : importOf(rows[0]);
}

/** A page of imports, newest first, those with ids below `before`. */
export async function listImports(
  db: Db,
  siteId: bigint | undefined,
  page: { readonly before: bigint | undefined; readonly limit: number },
): Promise<HistoryImport[]> {
  const { rows } = await run<ImportRow>(
    db,
    `${IMPORTS} where ($1::bigint is null or import.site_id = $1::bigint) and ($2::bigint is null or import.id < $2::bigint)
     order by import.id desc limit $3`,
    [siteId ?? null, page.before ?? null, page.limit],
  );
  return rows.map(importOf);
}

/** Begins an import; returns its id. */
export async function insertImport(
  db: Db,
  {
    siteId,
    credentialId,
    contentHash,
    by,
    at,
  }: {
    readonly siteId: bigint;
    readonly credentialId: bigint;
    readonly contentHash: string;
    readonly by: string;
    readonly at: number;
  },
): Promise<bigint> {
  const { rows } = await run<{ id: string }>(
    db,
    `insert into history_import (site_id, credential_id, content_hash, lines, refused, created_by, created_at, updated_at)
     select $1::bigint, $2::bigint, $3::bytea, 0, 0, $4::text, $5::timestamptz, $5::timestamptz returning id`,
    [siteId, credentialId, Buffer.from(contentHash, 'hex'), by, new Date(at).toISOString()],
  );
  return BigInt(rows[0]?.id ?? 0);
}

/** The credential that imported rows name: the one asked for, else the Site's first production credential. */
export async function findImportCredential(
  db: Db,
  siteId: bigint,
  wanted: bigint | undefined,
): Promise<bigint | undefined> {
  const { rows } = await run<{ id: string }>(
    db,
    `select id from credential where site_id = $1 and environment = 'production' and ($2::bigint is null or id = $2::bigint)
     order by revoked_at is not null, id limit 1`,
    [siteId, wanted ?? null],
  );
  return rows[0] === undefined ? undefined : BigInt(rows[0].id);
}

/** Hands an import to its task. */
export async function setImportTask(
  db: Db,
  { id, siteId }: Pick<HistoryImport, 'id' | 'siteId'>,
  taskId: bigint,
  at: number,
): Promise<void> {
  await run(
    db,
    `update history_import set task_id = $3, updated_at = $4::timestamptz where site_id = $1 and id = $2`,
    [siteId, id, taskId, new Date(at).toISOString()],
  );
}

/** Ends an import: the same content would be imported anew from then on. */
export async function endImport(
  db: Db,
  { id, siteId }: Pick<HistoryImport, 'id' | 'siteId'>,
  at: number,
): Promise<void> {
  await run(
    db,
    `update history_import set ended_at = $3::timestamptz, updated_at = $3::timestamptz where site_id = $1 and id = $2`,
    [siteId, id, new Date(at).toISOString()],
  );
}

/** Lines removed in one statement. */
const REMOVED_AT_ONCE = 20_000;

/**
 * Removes what waits of imports that nobody has gone on with since `before` (ms since 1970 UTC) and that no task works
 * on, slice by slice; one of which nothing is left has ended. Returns true where there is more to remove.
 */
export async function dropAbandonedImports(db: Db, before: number, now: number): Promise<boolean> {
  const { rows } = await run<{ site_id: string; id: string }>(
    db,
    `select import.site_id, import.id from history_import import left join task on task.id = import.task_id
     where import.ended_at is null and import.updated_at < $1::timestamptz
       and coalesce(task.state not in ('QUEUED', 'RUNNING'), true)
     order by import.site_id, import.id limit 1 for update of import skip locked`,
    [new Date(before).toISOString()],
  );
  const row = rows[0];
  if (row === undefined) return false;
  const { affected } = await run(
    db,
    `delete from history_import_line where site_id = $1 and import_id = $2 and (at, line) in (
       select at, line from history_import_line where site_id = $1 and import_id = $2 limit ${REMOVED_AT_ONCE})`,
    [row.site_id, row.id],
  );
  const abandoned = { id: BigInt(row.id), siteId: BigInt(row.site_id) };
  if (affected < REMOVED_AT_ONCE) await endImport(db, abandoned, now);
  return true;
}
