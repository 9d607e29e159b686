import type { Client } from 'pg';
import { PgBoss } from 'pg-boss';

/** The queue of events to judge; its job rows are what operators watch. */
export const EVALUATE = 'evaluate';

/** Where pg-boss itself puts jobs whose attempts ran out without code of ours running (a worker died every time). */
export const EVALUATE_DEAD = 'evaluate_dead';

/** Long work of the administrative side; jobs/tasks.ts. */
export const TASK = 'task';

/** Deliveries of webhooks, one job each; jobs/webhooks/. */
export const WEBHOOK = 'webhook';

/** How often a failed evaluation is tried again and after how long at first; from the environment. */
export interface EvaluationRetry {
  readonly limit: number;
  readonly delaySeconds: number;
}

/**
 * A claimed job that nobody settles for this long is given to another worker. With a check every five seconds and a
 * first retry delay of 2 to 4 s, the jobs of a dead worker run again within 24 s.
 */
const CLAIM_SECONDS = 15;

/** Longest wait between two attempts, seconds. */
const LONGEST_DELAY_SECONDS = 300;

/**
 * Claims that may be lost to dying workers before pg-boss gives up on a job. Much larger than the retry limit, which
 * jobs/evaluate.ts counts by itself from recorded errors: a crash must not use up the attempts of an event.
 */
const LOST_CLAIMS = 100;

/** Finished job rows are kept for operators this long, seconds; history belongs into our own tables. */
const KEEP_FINISHED_SECONDS = 6 * 3600;

/** Settings of the evaluation queue; changed ones apply to jobs inserted afterwards. */
export function evaluateQueueOptions(retry: EvaluationRetry) {
  return {
    expireInSeconds: CLAIM_SECONDS,
    retryLimit: LOST_CLAIMS,
    retryDelay: retry.delaySeconds,
    retryBackoff: true,
    retryDelayMax: LONGEST_DELAY_SECONDS,
    deleteAfterSeconds: KEEP_FINISHED_SECONDS,
    retentionSeconds: 30 * 86_400,
    warningQueueSize: 100_000,
    deadLetter: EVALUATE_DEAD,
  };
}

/**
 * A task runs for hours if it must, but says every few seconds that it is alive: the tasks of a dead worker run again
 * within 40 s. How often is counted in our own table, and its jobs never expire by themselves.
 */
const TASK_QUEUE = {
  heartbeatSeconds: 30,
  expireInSeconds: 24 * 3600,
  retryLimit: 10_000,
  retryDelay: 2,
  retryBackoff: false,
  retentionSeconds: 365 * 86_400,
  deleteAfterSeconds: KEEP_FINISHED_SECONDS,
};

/**
 * A delivery is tried by our own schedule, which is kept with the delivery: pg-boss only hands jobs out and takes back
 * those of a dead worker, within 40 s. Finished jobs go soon, since every attempt has a row of its own.
 */
const WEBHOOK_QUEUE = {
  expireInSeconds: 30,
  retryLimit: 10_000,
  retryDelay: 1,
  retryBackoff: false,
  retentionSeconds: 365 * 86_400,
  deleteAfterSeconds: 900,
};

/** How to reach the queue. */
export interface BossOptions {
  readonly url: string;
  readonly backend: 'postgres' | 'citus';
  readonly applicationName: string;
  /** True in the one process part that watches for lost claims and cleans up; needs the owning role. */
  readonly supervise: boolean;
  readonly migrate: boolean;
  readonly onError: (error: Error) => void;
}

/**
 * Builds a pg-boss instance, not started. Without an error listener a lost connection would end the process,
 * so there is always one.
 */
export function createBoss(options: BossOptions): PgBoss {
  const boss = new PgBoss({
    connectionString: options.url,
    application_name: options.applicationName,
    backend: options.backend,
    max: 2,
    connectionTimeoutMillis: 2_000,
    schedule: false,
    supervise: options.supervise,
    migrate: options.migrate,
    createSchema: options.migrate,
    superviseIntervalSeconds: 5,
    monitorIntervalSeconds: 5,
    maintenanceIntervalSeconds: 300,
    queueCacheIntervalSeconds: 60,
    persistQueueStats: options.supervise,
    persistWarnings: options.supervise,
  });
  boss.on('error', options.onError);
  boss.on('warning', () => undefined);
  return boss;
}

/** Creates the queues that do not exist yet. Needs the owning role; safe to repeat. */
export async function createQueues(boss: PgBoss): Promise<void> {
  const existing = new Set((await boss.getQueues()).map((queue) => queue.name));
  if (!existing.has(EVALUATE_DEAD)) {
    await boss.createQueue(EVALUATE_DEAD, {
      retryLimit: LOST_CLAIMS,
      retentionSeconds: 365 * 86_400,
      expireInSeconds: 60,
    });
  }
  if (!existing.has(TASK)) await boss.createQueue(TASK, TASK_QUEUE);
  if (!existing.has(WEBHOOK)) {
    await boss.createQueue(WEBHOOK, { ...WEBHOOK_QUEUE, policy: 'standard', partition: true });
  }
  if (!existing.has(EVALUATE)) {
    await boss.createQueue(EVALUATE, {
      ...evaluateQueueOptions({ limit: 5, delaySeconds: 2 }),
      policy: 'standard',
      partition: true,
    });
  }
}

/** Rows in a sample are 300 times this: a queue's table changes altogether within seconds, and is sampled as often. */
const JOB_STATISTICS = 10;

/**
 * Keeps the statistics of the tables of jobs small, which the planner does not need any larger: their jobs are found by
 * index. Sampled like others they took more than all other tables together. Needs the owning role; safe to repeat.
 */
export async function limitJobStatistics(client: Client): Promise<void> {
  const { rows } = await client.query<{ change: string }>(
    `select format('alter table %s %s', job.oid::regclass,
       string_agg(format('alter column %I set statistics %s', attname, $1::int), ', ')) as change
     from pg_attribute
     join pg_class job on job.oid = attrelid and job.relkind = 'r'
     join pg_inherits on inhrelid = job.oid and inhparent = 'pgboss.job'::regclass
     where attnum > 0 and not attisdropped and attstattarget is distinct from $1::int
     group by job.oid`,
    [JOB_STATISTICS],
  );
  for (const { change } of rows) await client.query(change);
}
