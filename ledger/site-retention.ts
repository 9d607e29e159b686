import { PARTITIONED_TABLES } from '../entities/tables.ts';
import { run, type Db } from './database.ts';

const DAY_MS = 86_400_000;

/** The bulk tables that a Site may keep for a shorter time. */
const TABLES = PARTITIONED_TABLES.filter(({ keptFor }) => keptFor === 'payloads');

/** A Site with days to delete: from the first instant of the next one, ms since 1970 UTC, to before `until`. */
export interface ExpiringSite {
  readonly siteId: bigint;
  readonly from: number;
  readonly until: number;
}

const startOfDay = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS;
const iso = (at: number): string => new Date(at).toISOString();

/** The Sites that keep payloads for a shorter time than the service, and have whole days that are older. */
export async function findExpiringSites(
  db: Db,
  now: number,
  serviceDays: number,
): Promise<ExpiringSite[]> {
  const { rows } = await run<{ id: string; days: number; expired_to: string | null }>(
    db,
    `select id, payload_retention_days as days, (extract(epoch from payload_expired_to) * 1000)::bigint as expired_to
     from site where payload_retention_days < $1 order by id`,
    [serviceDays],
  );
  return rows.flatMap(({ days, expired_to: to, id }) => {
    // Older than the service keeps anything there is nothing.
    const oldest = startOfDay(now - serviceDays * DAY_MS);
    const from = Math.max(oldest, to === null ? oldest : Number(to));
    const until = startOfDay(now - days * DAY_MS);
    return from < until ? [{ siteId: BigInt(id), from, until }] : [];
  });
}

/**
 * Deletes up to `limit` rows of each bulk table of a Site's day, which is one partition. Needs the owning role; the
 * append-only guard refuses what is younger than the Site keeps it. Returns whether there may be more.
 */
export async function deleteExpired(
  db: Db,
  siteId: bigint,
  day: number,
  limit: number,
): Promise<boolean> {
  let more = false;
  for (const { table, column } of TABLES) {
    const within = `${column} >= $2::timestamptz and ${column} < $3::timestamptz`;
    const { affected } = await run(
      db,
      `delete from ${table} where site_id = $1 and ${within} and ingestion_id in (
         select ingestion_id from ${table} where site_id = $1 and ${within} order by ingestion_id limit $4)`,
      [siteId, iso(day), iso(day + DAY_MS), limit],
    );
    more ||= affected >= limit;
  }
  return more;
}

/** Notes that everything of a Site before an instant has been deleted. */
export async function noteExpired(db: Db, siteId: bigint, to: number): Promise<void> {
  await run(db, 'update site set payload_expired_to = $2::timestamptz where id = $1', [
    siteId,
    iso(to),
  ]);
}
