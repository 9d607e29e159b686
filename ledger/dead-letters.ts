import { run, type Db } from './database.ts';

/** Which open dead letters are meant; what is undefined does not narrow. Times in ms since 1970 UTC. */
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
  readonly deadLetterId: bigint;
}

/** An ingestion whose automatic evaluation has stopped. `deadAt` in ms since 1970 UTC. */
export interface OpenDeadLetter extends DeadLetterPosition {
  readonly siteCode: string;
  readonly sourceEventId: string;
  readonly cause: string;
  readonly attempts: number;
  readonly deadAt: number;
}

/** How many open dead letters share a cause. Times in ms since 1970 UTC. */
export interface CauseCount {
  readonly cause: string;
  readonly count: number;
  readonly oldestDeadAt: number;
  readonly newestDeadAt: number;
}

/** Parameters `$1` to `$5`. The planner drops what is null, because each statement is planned with its values. */
const OPEN = `($1::bigint is null or dead.site_id = $1::bigint)
  and ($2::text is null or dead.cause = $2::text)
  and ($3::bigint[] is null or dead.ingestion_id = any ($3::bigint[]))
  and ($4::timestamptz is null or dead.dead_at >= $4::timestamptz)
  and ($5::timestamptz is null or dead.dead_at < $5::timestamptz)
  and not exists (select 1 from dead_letter_resolution resolution where resolution.site_id = dead.site_id
    and resolution.ingestion_id = dead.ingestion_id and resolution.dead_letter_id = dead.id)`;

const iso = (at: number | undefined): string | null =>
  at === undefined ? null : new Date(at).toISOString();

const parametersOf = (filter: DeadLetterFilter): unknown[] => [
  filter.siteId?.toString() ?? null,
  filter.cause ?? null,
  filter.ingestionIds?.map(String) ?? null,
  iso(filter.from),
  iso(filter.to),
];

/** Reads a page of open dead letters in the order of their keys (Site, then ingestion), after `after`. */
export async function listOpenDeadLetters(
  db: Db,
  filter: DeadLetterFilter,
  page: { readonly after: DeadLetterPosition | undefined; readonly limit: number },
): Promise<OpenDeadLetter[]> {
  const { rows } = await run<{
    site_id: string;
    ingestion_id: string;
    id: string;
    cause: string;
    attempts: number;
    dead_at: string;
    code: string;
    source_event_id: string;
  }>(
    db,
    `select dead.site_id, dead.ingestion_id, dead.id, dead.cause, dead.attempts,
       (extract(epoch from dead.dead_at) * 1000)::bigint as dead_at, site.code, event.source_event_id
     from dead_letter dead
     join site on site.id = dead.site_id
     join ingestion event on event.site_id = dead.site_id and event.id = dead.ingestion_id
     where ${OPEN} and (dead.site_id, dead.ingestion_id, dead.id) > ($6::bigint, $7::bigint, $8::bigint)
     order by dead.site_id, dead.ingestion_id, dead.id
     limit $9`,
    [
      ...parametersOf(filter),
      String(page.after?.siteId ?? 0n),
      String(page.after?.ingestionId ?? 0n),
      String(page.after?.deadLetterId ?? 0n),
      page.limit,
    ],
  );
  return rows.map((row) => ({
    siteId: BigInt(row.site_id),
    ingestionId: BigInt(row.ingestion_id),
    deadLetterId: BigInt(row.id),
    siteCode: row.code,
    sourceEventId: row.source_event_id,
    cause: row.cause,
    attempts: row.attempts,
    deadAt: Number(row.dead_at),
  }));
}

/** Counts open dead letters by cause, most frequent first. Reads every row that matches. */
export async function countOpenDeadLetters(
  db: Db,
  filter: DeadLetterFilter,
): Promise<CauseCount[]> {
  const { rows } = await run<{ cause: string; count: string; oldest: string; newest: string }>(
    db,
    `select dead.cause, count(*) as count, (extract(epoch from min(dead.dead_at)) * 1000)::bigint as oldest,
       (extract(epoch from max(dead.dead_at)) * 1000)::bigint as newest
     from dead_letter dead where ${OPEN} group by dead.cause order by count(*) desc, dead.cause`,
    parametersOf(filter),
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

/**
 * Resolves at most `limit` open dead letters, in the order of their keys. Needs an open transaction. One that is
 * resolved by somebody else at the same moment is left to them, so none is resolved twice.
 *
 * @returns the ingestions, each once
 */
export async function resolveDeadLetters(
  db: Db,
  filter: DeadLetterFilter,
  resolution: Resolution,
  limit: number,
): Promise<{ siteId: bigint; ingestionId: bigint }[]> {
  const { rows } = await run<{ site_id: string; ingestion_id: string }>(
    db,
    `insert into dead_letter_resolution (site_id, ingestion_id, dead_letter_id, kind, reason, resolved_by, resolved_at)
     select dead.site_id, dead.ingestion_id, dead.id, $6::text, $7::text, $8::text, $9::timestamptz
     from dead_letter dead where ${OPEN}
     order by dead.site_id, dead.ingestion_id, dead.id
     limit $10
     on conflict (site_id, ingestion_id, dead_letter_id) do nothing
     returning site_id, ingestion_id`,
    [
      ...parametersOf(filter),
      resolution.kind,
      resolution.reason,
      resolution.by,
      iso(resolution.at),
      limit,
    ],
  );
  const once = new Map(rows.map((row) => [`${row.site_id}/${row.ingestion_id}`, row]));
  return [...once.values()].map((row) => ({
    siteId: BigInt(row.site_id),
    ingestionId: BigInt(row.ingestion_id),
  }));
}
