import { run, type Db } from '../database.ts';
import { RESULT_LIMIT_SECONDS } from './result-times.ts';

/**
 * Counts the evaluation jobs that wait or run, by Site and, as site_id 0, in all. Reads every such job, as pg-boss itself
 * does every few seconds; reports read what is kept here. Needs an open transaction.
 */
export async function countBacklog(db: Db, now: number): Promise<void> {
  const at = new Date(now).toISOString();
  await run(
    db,
    `insert into report_backlog as backlog (site_id, waiting, running, retrying, overdue, oldest_at, counted_at)
     select coalesce(site_id, 0), count(*) filter (where state = 'created'), count(*) filter (where state = 'active'),
       count(*) filter (where state = 'retry'), count(*) filter (where created_on < $2::timestamptz), min(created_on),
       $1::timestamptz
     from (
       select (data ->> 'site_id')::bigint as site_id, state, created_on from pgboss.job
       where name = 'evaluate' and state < 'completed'
     ) waiting
     group by grouping sets ((site_id), ()) order by 1
     on conflict (site_id) do update set waiting = excluded.waiting, running = excluded.running,
       retrying = excluded.retrying, overdue = excluded.overdue, oldest_at = excluded.oldest_at, counted_at = excluded.counted_at`,
    [at, new Date(now - RESULT_LIMIT_SECONDS * 1000).toISOString()],
  );
  await run(db, 'delete from report_backlog where counted_at < $1::timestamptz', [at]);
}
