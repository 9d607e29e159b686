import { Conditions } from './conditions.ts';
import { run, type Db } from './database.ts';

/** Which dead letters that wait for a decision are meant; what is undefined does not narrow. Times in ms since 1970 UTC. */
export interface DeadLetterFilter {
  readonly siteId?: bigint | undefined;
  readonly cause?: string | undefined;
  readonly ingestionIds?: readonly bigint[] | undefined;
  /** Died at or after. */
  readonly from?: number | undefined;
  /** Died before. */
  readonly to?: number | undefined;
}

/** Where a page of dead letters ended: the key of its last row. */
export interface DeadLetterPosition {
  readonly siteId: bigint;
  readonly ingestionId: bigint;
}

/** An ingestion whose automatic evaluation has stopped. `deadAt` in ms since 1970 UTC. */
export interface OpenDeadLetter extends DeadLetterPosition {
  readonly siteCode: string;
  readonly sourceEventId: string;
  readonly cause: string;
  /** Place in our code where the last attempt failed; null where no attempt of ours was recorded. */
  readonly place: string | null;
  readonly attempts: number;
  readonly deadAt: number;
}

/** How many dead letters share a cause. Times in ms since 1970 UTC. */
export interface CauseCount {
  readonly cause: string;
  readonly count: number;
  readonly oldestDeadAt: number;
  readonly newestDeadAt: number;
}

const iso = (at: number | undefined): string | undefined =>
  at === undefined ? undefined : new Date(at).toISOString();

const conditionsOf = (filter: DeadLetterFilter): Conditions =>
  new Conditions()
    .where(filter.siteId?.toString(), (p) => `dead.site_id = ${p}::bigint`)
    .where(filter.cause, (p) => `dead.cause = ${p}::text`)
    .where(filter.ingestionIds?.map(String), (p) => `dead.ingestion_id = any (${p}::bigint[])`)
    .where(iso(filter.from), (p) => `dead.dead_at >= ${p}::timestamptz`)
    .where(iso(filter.to), (p) => `dead.dead_at < ${p}::timestamptz`);

/** Reads a page of dead letters that wait for a decision, in the order of their keys, after `after`. */
export async function listOpenDeadLetters(
  db: Db,
  filter: DeadLetterFilter,
  page: { readonly after: DeadLetterPosition | undefined; readonly limit: number },
): Promise<OpenDeadLetter[]> {
  const conditions = conditionsOf(filter);
  const site = conditions.parameter(String(page.after?.siteId ?? 0n));
  const ingestion = conditions.parameter(String(page.after?.ingestionId ?? 0n));
  const { rows } = await run<{
    site_id: string;
    ingestion_id: string;
    cause: string;
    attempts: number;
    dead_at: string;
    code: string;
    source_event_id: string;
    error_place: string | null;
  }>(
    db,
    `with page as (
       select dead.site_id, dead.ingestion_id, dead.cause, dead.attempts, dead.dead_at from open_dead_letter dead
       where ${conditions.text} and not dead.discarded
         and (dead.site_id, dead.ingestion_id) > (${site}::bigint, ${ingestion}::bigint)
       order by dead.site_id, dead.ingestion_id
       limit ${conditions.parameter(page.limit)}
     )
     select page.site_id, page.ingestion_id, page.cause, page.attempts, site.code, event.source_event_id,
       (extract(epoch from page.dead_at) * 1000)::bigint as dead_at,
       (select attempt.error_place from evaluation_attempt attempt where attempt.site_id = page.site_id
         and attempt.ingestion_id = page.ingestion_id order by attempt.attempt desc limit 1) as error_place
     from page
     join site on site.id = page.site_id
     join ingestion event on event.site_id = page.site_id and event.id = page.ingestion_id
     order by page.site_id, page.ingestion_id`,
    conditions.values,
  );
  return rows.map((row) => ({
    siteId: BigInt(row.site_id),
    ingestionId: BigInt(row.ingestion_id),
    siteCode: row.code,
    sourceEventId: row.source_event_id,
    cause: row.cause,
    place: row.error_place,
    attempts: row.attempts,
    deadAt: Number(row.dead_at),
  }));
}

/** Counts dead letters that wait for a decision by cause, most frequent first. */
export async function countOpenDeadLetters(
  db: Db,
  filter: DeadLetterFilter,
): Promise<CauseCount[]> {
  const conditions = conditionsOf(filter);
  const { rows } = await run<{ cause: string; count: string; oldest: string; newest: string }>(
    db,
    `select dead.cause, count(*) as count, (extract(epoch from min(dead.dead_at)) * 1000)::bigint as oldest,
       (extract(epoch from max(dead.dead_at)) * 1000)::bigint as newest
     from open_dead_letter dead where ${conditions.text} and not dead.discarded
     group by dead.cause order by count(*) desc, dead.cause`,
    conditions.values,
  );
  return rows.map((row) => ({
    cause: row.cause,
    count: Number(row.count),
    oldestDeadAt: Number(row.oldest),
    newestDeadAt: Number(row.newest),
  }));
}

/** What an operator decided, for every dead letter it is decided about. `at` in ms since 1970 UTC. */
export interface Resolution {
  readonly kind: 'REDRIVEN' | 'DISCARDED';
  readonly reason: string;
  readonly by: string;
  readonly at: number;
}

/** Whoever decides holds it until its transaction ends: two decisions never meet over the same letters. */
const RESOLUTION_LOCK = 7_218_302;

/**
 * Decides about at most `limit` dead letters, in the order of their keys. Needs an open transaction. A redriven one is
 * closed; a discarded one waits for nothing any more, but its ingestion stays as it is: in DLQ.
 *
 * @returns the ingestions, each once
 */
export async function resolveDeadLetters(
  db: Db,
  filter: DeadLetterFilter,
  resolution: Resolution,
  limit: number,
): Promise<{ siteId: bigint; ingestionId: bigint }[]> {
  await run(db, 'select pg_advisory_xact_lock($1)', [RESOLUTION_LOCK]);
  const conditions = conditionsOf(filter);
  const taken =
    resolution.kind === 'REDRIVEN'
      ? 'delete from open_dead_letter dead using wanted'
      : 'update open_dead_letter dead set discarded = true from wanted';
  const { rows } = await run<{ site_id: string; ingestion_id: string }>(
    db,
    `with wanted as (
       select dead.site_id, dead.ingestion_id from open_dead_letter dead
       where ${conditions.text} and not dead.discarded
       order by dead.site_id, dead.ingestion_id
       limit ${conditions.parameter(limit)}
     ), taken as (
       ${taken} where dead.site_id = wanted.site_id and dead.ingestion_id = wanted.ingestion_id
       returning dead.site_id, dead.ingestion_id, dead.dead_letter_id
     )
     insert into dead_letter_resolution (site_id, ingestion_id, dead_letter_id, kind, reason, resolved_by, resolved_at)
     select site_id, ingestion_id, dead_letter_id, ${conditions.parameter(resolution.kind)}::text,
       ${conditions.parameter(resolution.reason)}::text, ${conditions.parameter(resolution.by)}::text,
       ${conditions.parameter(iso(resolution.at))}::timestamptz
     from taken
     returning site_id, ingestion_id`,
    conditions.values,
  );
  return rows.map((row) => ({
    siteId: BigInt(row.site_id),
    ingestionId: BigInt(row.ingestion_id),
  }));
}
