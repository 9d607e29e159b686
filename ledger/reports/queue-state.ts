import { run, type Db } from '../database.ts';
import { OPERATOR_EVENT_KINDS } from '../operator-event-kinds.ts';

/** One queue as it stands in the database. */
export interface QueueState {
  readonly name: string;
  /** Jobs ready to run now, waiting for their time, running. As pg-boss counted them last. */
  readonly ready: number;
  readonly deferred: number;
  readonly active: number;
  /** Seconds since that count; large where no worker is alive to count. */
  readonly countedSecondsAgo: number;
  /** Seconds that the longest waiting job could have run already; 0 where none waits. Read now. */
  readonly oldestSeconds: number;
}

/** What a scrape asks of the database. */
export interface DatabaseState {
  readonly queues: readonly QueueState[];
  /** Dead letters that nobody has redriven or discarded. */
  readonly openDeadLetters: number;
  readonly oldestDeadLetterSeconds: number;
  /** Seconds that the sums of the reports are behind. */
  readonly reportsBehindSeconds: number;
  /** Events for operators of the last hour, by kind; of each at most {@link MOST_EVENTS} are counted. */
  readonly operatorEvents: readonly { readonly kind: string; readonly count: number }[];
}

const MOST_EVENTS = 100;

/** Reads it all: index look-ups and small tables only, a few milliseconds whatever waits. */
export async function readDatabaseState(db: Db, now: number): Promise<DatabaseState> {
  const { rows } = await run<{
    name: string;
    ready: number;
    deferred: number;
    active: number;
    counted: string | null;
    oldest: string | null;
  }>(
    db,
    `select queue.name, queue.ready_count as ready, queue.deferred_count as deferred, queue.active_count as active,
       extract(epoch from now() - queue.monitor_on) as counted, extract(epoch from now() - oldest.since) as oldest
     from pgboss.queue
     left join lateral (
       select greatest(job.created_on, job.start_after) as since from pgboss.job
       where job.name = queue.name and job.state < 'active' and not job.blocked and job.start_after <= now()
       order by job.priority desc, job.created_on limit 1
     ) oldest on true
     where queue.name not like '\\_\\_pgboss%' order by queue.name`,
  );
  const { rows: sums } = await run<Record<string, string | null>>(
    db,
    `select
       (select count(*) from open_dead_letter where not discarded) as letters,
       (select extract(epoch from $1::timestamptz - min(dead_at)) from open_dead_letter where not discarded) as letter_age,
       (select extract(epoch from $1::timestamptz - rolled_to) from report_progress) as behind`,
    [new Date(now).toISOString()],
  );
  const { rows: events } = await run<{ kind: string; count: number }>(
    db,
    `select kind.name as kind, recent.count from unnest($1::text[]) as kind (name)
     cross join lateral (
       select count(*)::int as count from (
         select at from operator_event where operator_event.kind = kind.name order by id desc limit ${MOST_EVENTS}
       ) latest where at > $2::timestamptz - interval '1 hour'
     ) recent`,
    [Object.keys(OPERATOR_EVENT_KINDS), new Date(now).toISOString()],
  );
  const sum = (name: string): number => Math.max(0, Number(sums[0]?.[name] ?? 0));
  return {
    queues: rows.map((row) => ({
      name: row.name,
      ready: row.ready,
      deferred: row.deferred,
      active: row.active,
      countedSecondsAgo: Math.max(0, Number(row.counted ?? 0)),
      oldestSeconds: Math.max(0, Number(row.oldest ?? 0)),
    })),
    openDeadLetters: sum('letters'),
    oldestDeadLetterSeconds: sum('letter_age'),
    reportsBehindSeconds: sum('behind'),
    operatorEvents: events,
  };
}
