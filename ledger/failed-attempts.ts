import { run, type Db } from './database.ts';
import type { LedgerRef } from './load-batch.ts';

/** Why an attempt failed: the error's class and place in our code; never its text, which may hold values. */
export interface AttemptError {
  readonly errorClass: string;
  readonly errorPlace: string;
}

/** Appends a failed attempt; returns how many the ingestion has now. Attempts before its last redrive do not count. */
export async function recordFailedAttempt(
  db: Db,
  ref: LedgerRef,
  error: AttemptError,
  failedAt: number,
): Promise<number> {
  const { rows } = await run<{ attempt: number }>(
    db,
    `insert into evaluation_attempt (site_id, ingestion_id, attempt, error_class, error_place, failed_at)
     select $1::bigint, $2::bigint, coalesce(max(attempt), 0) + 1, $3::text, $4::text, $5::timestamptz
     from evaluation_attempt where site_id = $1::bigint and ingestion_id = $2::bigint
     returning attempt`,
    [
      ref.siteId,
      ref.ingestionId,
      error.errorClass,
      error.errorPlace,
      new Date(failedAt).toISOString(),
    ],
  );
  const { rows: redrives } = await run<{ spent: number }>(
    db,
    `select coalesce(sum(attempts), 0)::int as spent from dead_letter where site_id = $1 and ingestion_id = $2`,
    [ref.siteId, ref.ingestionId],
  );
  return (rows[0]?.attempt ?? 1) - (redrives[0]?.spent ?? 0);
}

/**
 * Opens a dead letter unless the ingestion has an evaluation or an open one. `attempts` counts since the last redrive.
 * Returns whether one was opened.
 */
export async function openDeadLetter(
  db: Db,
  ref: LedgerRef,
  letter: { readonly cause: string; readonly attempts: number; readonly deadAt: number },
): Promise<boolean> {
  const { affected } = await run(
    db,
    `with letter as (
       insert into dead_letter (site_id, ingestion_id, cause, attempts, dead_at)
       select $1::bigint, $2::bigint, $3::text, $4::int, $5::timestamptz
       where not exists (select 1 from evaluation where site_id = $1::bigint and ingestion_id = $2::bigint)
         and not exists (select 1 from open_dead_letter where site_id = $1::bigint and ingestion_id = $2::bigint)
       returning site_id, ingestion_id, id, cause, attempts, dead_at)
     insert into open_dead_letter (site_id, ingestion_id, dead_letter_id, cause, attempts, dead_at)
     select site_id, ingestion_id, id, cause, attempts, dead_at from letter`,
    [
      ref.siteId,
      ref.ingestionId,
      letter.cause,
      letter.attempts,
      new Date(letter.deadAt).toISOString(),
    ],
  );
  return affected === 1;
}
