import { run, type Db } from './database.ts';
import type { HistoryImport } from './history-imports.ts';
import { joinTexts, RECORD_SEPARATOR } from './joined-texts.ts';

/** A valid line on its way into the waiting room; `at` in ms since 1970 UTC. */
export interface WaitingLine {
  readonly line: number;
  readonly at: number;
  readonly isLabel: boolean;
  /** Canonical JSON. */
  readonly body: string;
}

/** A line that was refused: its number, and paths with reasons. */
export interface RefusedLine {
  readonly line: number;
  readonly problems: readonly string[];
}

/** Adds the next lines of an import, which the caller has locked. `count` of them were received, blank ones included. */
export async function addLines(
  db: Db,
  { id, siteId }: Pick<HistoryImport, 'id' | 'siteId'>,
  count: number,
  waiting: readonly WaitingLine[],
  refused: readonly RefusedLine[],
  at: number,
): Promise<void> {
  await run(
    db,
    `insert into history_import_line (site_id, import_id, at, line, is_label, body)
     select $1::bigint, $2::bigint, to_timestamp(at / 1000.0), line, is_label, body
     from unnest($3::bigint[], $4::bigint[], $5::boolean[], string_to_array($6::text, $7::text))
       as waiting (at, line, is_label, body)`,
    [
      siteId,
      id,
      waiting.map((line) => line.at),
      waiting.map(({ line }) => line),
      waiting.map(({ isLabel }) => isLabel),
      joinTexts(waiting.map(({ body }) => body)),
      RECORD_SEPARATOR,
    ],
  );
  await run(
    db,
    `update history_import set lines = lines + $3::bigint, updated_at = $4::timestamptz where site_id = $1 and id = $2`,
    [siteId, id, count, new Date(at).toISOString()],
  );
  await refuseLines(db, { id, siteId }, refused);
}

/** Notes lines that were refused; one that is noted already stays as it is. */
export async function refuseLines(
  db: Db,
  { id, siteId }: Pick<HistoryImport, 'id' | 'siteId'>,
  refused: readonly RefusedLine[],
): Promise<void> {
  if (refused.length === 0) return;
  const { affected } = await run(
    db,
    `insert into history_import_problem (site_id, import_id, line, problems)
     select $1::bigint, $2::bigint, line, problems::jsonb
     from unnest($3::bigint[], string_to_array($4::text, $5::text)) as refused (line, problems)
     on conflict (site_id, import_id, line) do nothing`,
    [
      siteId,
      id,
      refused.map(({ line }) => line),
      joinTexts(refused.map(({ problems }) => JSON.stringify(problems))),
      RECORD_SEPARATOR,
    ],
  );
  await run(db, `update history_import set refused = refused + $3 where site_id = $1 and id = $2`, [
    siteId,
    id,
    affected,
  ]);
}

/** Refused lines by number, those after `after`. */
export async function readProblems(
  db: Db,
  { id, siteId }: Pick<HistoryImport, 'id' | 'siteId'>,
  page: { readonly after: number; readonly limit: number },
): Promise<RefusedLine[]> {
  const { rows } = await run<{ line: string; problems: string[] }>(
    db,
    `select line, problems from history_import_problem where site_id = $1 and import_id = $2 and line > $3
     order by line limit $4`,
    [siteId, id, page.after, page.limit],
  );
  return rows.map(({ line, problems }) => ({ line: Number(line), problems }));
}

/** How many lines wait. */
export async function countWaiting(
  db: Db,
  { id, siteId }: Pick<HistoryImport, 'id' | 'siteId'>,
): Promise<number> {
  const { rows } = await run<{ waiting: string }>(
    db,
    'select count(*) as waiting from history_import_line where site_id = $1 and import_id = $2',
    [siteId, id],
  );
  return Number(rows[0]?.waiting ?? 0);
}

/** The next lines in the order of time, from `from` (ms since 1970 UTC) on: what lies before has been removed. */
export async function nextLines(
  db: Db,
  { id, siteId }: Pick<HistoryImport, 'id' | 'siteId'>,
  from: number | null,
  limit: number,
): Promise<WaitingLine[]> {
  const { rows } = await run<{ line: string; at: string; is_label: boolean; body: string }>(
    db,
    `select line, (extract(epoch from at) * 1000)::bigint as at, is_label, body from history_import_line
     where site_id = $1 and import_id = $2 and at >= $3::timestamptz order by at, line limit $4`,
    [siteId, id, from === null ? '-infinity' : new Date(from).toISOString(), limit],
  );
  return rows.map((row) => ({
    line: Number(row.line),
    at: Number(row.at),
    isLabel: row.is_label,
    body: row.body,
  }));
}

/** Removes lines that are in the ledger now, in the transaction that brought them there. */
export async function removeLines(
  db: Db,
  { id, siteId }: Pick<HistoryImport, 'id' | 'siteId'>,
  lines: readonly WaitingLine[],
): Promise<void> {
  await run(
    db,
    `delete from history_import_line waiting using unnest($3::bigint[], $4::bigint[]) as done (at, line)
     where waiting.site_id = $1 and waiting.import_id = $2 and waiting.at = to_timestamp(done.at / 1000.0)
       and waiting.line = done.line`,
    [siteId, id, lines.map(({ at }) => at), lines.map(({ line }) => line)],
  );
}

/** The days (UTC, `YYYY-MM-DD`) of events that wait. */
export async function daysWaiting(
  db: Db,
  { id, siteId }: Pick<HistoryImport, 'id' | 'siteId'>,
): Promise<string[]> {
  const { rows } = await run<{ day: string }>(
    db,
    `select distinct to_char(at at time zone 'UTC', 'YYYY-MM-DD') as day from history_import_line
     where site_id = $1 and import_id = $2 and not is_label order by 1`,
    [siteId, id],
  );
  return rows.map(({ day }) => day);
}
