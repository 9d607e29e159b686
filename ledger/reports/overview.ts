import { run, type Db } from '../database.ts';
import { periodParameters, type ReportPeriod } from './period.ts';

/** What happened, as the ledger and its neighbours say. */
export interface Activity {
  readonly accepted: number;
  readonly evaluated: number;
  readonly allowed: number;
  readonly reviewed: number;
  readonly held: number;
  readonly blocked: number;
  readonly failedAttempts: number;
  readonly deadLetters: number;
  /** Answers 4xx and 5xx of the public operations, as the processes counted them. */
  readonly refused: number;
  readonly failed: number;
}

/** Evaluation jobs that wait or run. Times in ms since 1970 UTC. */
export interface Backlog {
  readonly waiting: number;
  readonly running: number;
  readonly retrying: number;
  /** Those queued more than five minutes before the count. */
  readonly overdue: number;
  readonly oldestAt: number | null;
  readonly countedAt: number;
}

type Row = Record<string, string | null>;

const SUMS = `sum(accepted) as accepted, sum(evaluated) as evaluated, sum(allowed) as allowed, sum(reviewed) as reviewed,
  sum(held) as held, sum(blocked) as blocked, sum(failed_attempts) as failed_attempts,
  sum(dead_letters) as dead_letters, sum(refused) as refused, sum(failed) as failed`;

/** Both sources as one list: what the ledger knows, and what only the processes counted. */
const BOTH = (where: string): string => `(
    select site_id, hour, accepted, evaluated, allowed, reviewed, held, blocked, failed_attempts, dead_letters,
      0 as refused, 0 as failed
    from report_hour where ${where}
    union all
    select site_id, hour, 0, 0, 0, 0, 0, 0, 0, 0,
      case when outcome like '4%' then count else 0 end, case when outcome like '5%' then count else 0 end
    from service_hour where ${where} and outcome ~ '^[45]'
  ) as happened`;

const activityOf = (row: Row): Activity => ({
  accepted: Number(row['accepted']),
  evaluated: Number(row['evaluated']),
  allowed: Number(row['allowed']),
  reviewed: Number(row['reviewed']),
  held: Number(row['held']),
  blocked: Number(row['blocked']),
  failedAttempts: Number(row['failed_attempts']),
  deadLetters: Number(row['dead_letters']),
  refused: Number(row['refused']),
  failed: Number(row['failed']),
});

/** What happened hour by hour, newest first; hours in which nothing did are left out. `hour` in ms since 1970 UTC. */
export async function readHours(
  db: Db,
  period: ReportPeriod,
): Promise<(Activity & { readonly hour: number })[]> {
  const { rows } = await run<Row>(
    db,
    `select (extract(epoch from hour) * 1000)::bigint as hour, ${SUMS}
     from ${BOTH('site_id = $1::bigint and hour >= $2::timestamptz and hour < $3::timestamptz')}
     group by happened.hour order by happened.hour desc`,
    periodParameters(period),
  );
  return rows.map((row) => ({ hour: Number(row['hour']), ...activityOf(row) }));
}

/** What happened Site by Site, those with most events first, with their backlog. */
export async function readSites(
  db: Db,
  period: Pick<ReportPeriod, 'from' | 'to'>,
  limit: number,
): Promise<(Activity & { readonly siteCode: string; readonly backlog: number })[]> {
  const { rows } = await run<Row>(
    db,
    `select site.code, coalesce(backlog.waiting + backlog.running + backlog.retrying, 0) as backlog, activity.*
     from (
       select site_id, ${SUMS}
       from ${BOTH('hour >= $1::timestamptz and hour < $2::timestamptz and site_id <> 0')}
       group by site_id order by sum(accepted) desc, site_id limit $3
     ) activity
     join site on site.id = activity.site_id
     left join report_backlog backlog on backlog.site_id = activity.site_id
     order by activity.accepted desc, site.code`,
    [...periodParameters({ siteId: undefined, ...period }).slice(1), limit],
  );
  return rows.map((row) => ({
    siteCode: String(row['code']),
    backlog: Number(row['backlog']),
    ...activityOf(row),
  }));
}

/** The backlog of a Site or of the whole service as counted last; all zero where no job was there. */
export async function readBacklog(db: Db, siteId: bigint | undefined): Promise<Backlog> {
  const { rows } = await run<Row>(
    db,
    `select backlog.waiting, backlog.running, backlog.retrying, backlog.overdue, (extract(epoch from counted.at) * 1000)::bigint as counted_at,
       (extract(epoch from backlog.oldest_at) * 1000)::bigint as oldest_at
     from (select max(counted_at) as at from report_backlog) counted
     left join report_backlog backlog on backlog.site_id = $1`,
    [String(siteId ?? 0n)],
  );
  const row = rows[0] ?? {};
  const oldest = row['oldest_at'] ?? null;
  return {
    waiting: Number(row['waiting'] ?? 0),
    running: Number(row['running'] ?? 0),
    retrying: Number(row['retrying'] ?? 0),
    overdue: Number(row['overdue'] ?? 0),
    oldestAt: oldest === null ? null : Number(oldest),
    countedAt: Number(row['counted_at'] ?? 0),
  };
}
