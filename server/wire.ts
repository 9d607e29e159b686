import type { MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { PgBoss } from 'pg-boss';
import type { Logger } from 'pino';
import { COMPARE } from '../contract/comparison.ts';
import { IMPORT } from '../contract/imports.ts';
import { BACKTEST } from '../contract/rules.ts';
import { TRAIN } from '../contract/training.ts';
import { createOrm } from '../entities/orm.ts';
import { backtestTask } from '../jobs/backtest.ts';
import { createCompareHandler } from '../jobs/compare/compare-models.ts';
import { createDeadLetterLoop } from '../jobs/dead-letters.ts';
import { enqueueAllEvaluations, requeueEvaluations } from '../jobs/enqueue.ts';
import { createAbandonedImportsLoop, createImportHandler } from '../jobs/import-history.ts';
import { createBoss, EVALUATE, evaluateQueueOptions } from '../jobs/queues.ts';
import { webhookQueue } from '../jobs/enqueue-webhooks.ts';
import { redriveTask } from '../jobs/redrive.ts';
import { createRulesOf } from '../jobs/rules-of.ts';
import { RuleSource } from '../jobs/site-rules.ts';
import { startTask, TaskRunner, type TaskHandler } from '../jobs/tasks.ts';
import { Loop } from '../jobs/loop.ts';
import { createReportSumsLoop } from '../jobs/report-sums.ts';
import { createTrainingSchedule } from '../jobs/train/schedule.ts';
import { createTrainHandler } from '../jobs/train/train-model.ts';
import { createUpkeepLoop } from '../jobs/upkeep.ts';
import { createRecoverHandler, RECOVER } from '../jobs/webhook-recover.ts';
import type { Clock } from '../ledger/clock.ts';
import type { Db } from '../ledger/database.ts';
import { failureKind } from '../ledger/failures.ts';
import { createIdSource } from '../ledger/ids.ts';
import { IngestQueue, type IngestLimits } from '../ledger/ingest-queue.ts';
import { HourlyTally } from '../ledger/reports/hourly-tally.ts';
import { readDatabaseState } from '../ledger/reports/queue-state.ts';
import { tallyResults } from '../ledger/reports/result-times.ts';
import type { SecretBox } from '../ledger/secret-box.ts';
import { forgetExpiredSecrets } from '../ledger/webhook-secrets.ts';
import { createStateLookUps } from '../ledger/status.ts';
import { createPipelinedTransactions, type Transaction } from '../ledger/transactions.ts';
import type { Services } from '../routers/services.ts';
import { AddressLimiter } from './address-limiter.ts';
import { CredentialCache } from './credential-cache.ts';
import { registerDatabaseMetrics, registerPoolMetrics } from './database-metrics.ts';
import { createEvaluations, shareBeside } from './evaluation.ts';
import { evaluationParts, gaveUp } from './evaluation-parts.ts';
import { EvaluationThread } from './evaluation-thread.ts';
import { FailedLogins } from './failed-logins.ts';
import { KeyUse } from './key-use.ts';
import { logFault, logFaultOf } from './log.ts';
import { createMetrics, registerGauges, type Metrics } from './metrics.ts';
import { RateLimiter } from './rate-limiter.ts';
import { webhookParts } from './webhook-parts.ts';

/** What the parts are built from. */
export interface WireOptions {
  readonly appUrl: string;
  readonly ownerUrl: string;
  readonly backend: 'postgres' | 'citus';
  readonly environment: 'both' | 'production' | 'sandbox';
  readonly retryLimit: number;
  readonly retryDelaySeconds: number;
  readonly retentionDays: number;
  readonly secretBox: SecretBox;
  readonly webhooks: WebhookOptions;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ingestLimits?: Partial<IngestLimits>;
  /** Evaluations run on so many threads of their own, which read the machine's clock; absent: on this one. */
  readonly evaluationThreads?: number;
}

/** How webhooks are delivered; from the environment. */
export interface WebhookOptions {
  readonly allowPrivateNetworks: boolean;
  /** Waits after each failed attempt, s. */
  readonly retrySeconds: readonly number[];
  /** Events, deliveries and attempts older than this are dropped. */
  readonly retentionDays: number;
}

/** The API's parts: everything a request needs. */
export interface ApiParts {
  readonly services: Services;
  readonly credentials: CredentialCache;
  readonly rateLimiter: RateLimiter;
  readonly failedKeys: AddressLimiter;
  readonly failedLogins: FailedLogins;
}

/** Counts the answer of a public operation for the reports; `siteId` undefined where the caller is not known. */
export type CountAnswer = (siteId: bigint | undefined, operation: string, outcome: string) => void;

/** How often the counts of a process are added to the database's, ms. */
const FLUSH_MS = 30_000;

/** How often replaced signing secrets that sign no longer are removed, ms. */
const FORGET_MS = 60_000;

/** One process's parts, wired; `start` needs the migrated database, `close` may be called at any time and twice. */
export interface Wiring {
  readonly metrics: Metrics;
  readonly api: ApiParts;
  readonly countAnswer: CountAnswer;
  /** True when the database answers a trivial query. */
  ping(): Promise<boolean>;
  start(parts: { readonly api: boolean; readonly worker: boolean }): Promise<void>;
  close(): Promise<void>;
}

/** Connections of the application's role in one process; docs/operations.md adds up the budget. */
const POOL_SIZE = 8;

/** Those of group commits and evaluation batches among them: one each, and one for a dead letter or a failed attempt. */
const PIPELINED_CONNECTIONS = 4;

/** The one place where parts meet. Nothing connects before it is used. */
export function wire(options: WireOptions): Wiring {
  const { clock, log } = options;
  const metrics = createMetrics();
  const fault = (place: string) => (error: unknown) => {
    metrics.faults.inc({ place });
    logFault(log, place, error);
  };
  const pools = new Map<string, Pool>();
  const orm = createOrm({
    url: options.appUrl,
    poolSize: POOL_SIZE,
    applicationName: 'transaction-risk',
    statementTimeoutMs: 10_000,
    onPool: (pool) => pools.set('requests', pool),
  });
  const owner = createOrm({
    url: options.ownerUrl,
    poolSize: 1,
    applicationName: 'transaction-risk upkeep',
    statementTimeoutMs: 60_000,
    onPool: (pool) => pools.set('upkeep', pool),
  });
  const queueFault = fault('queue');
  const bossOptions = {
    backend: options.backend,
    migrate: false,
    // An absent database shows in readiness and answers; one line per lost connection would say nothing more.
    onError: (error: Error) => {
      if (failureKind(error) === 'unforeseen') queueFault(error);
    },
  };
  const boss = createBoss({
    ...bossOptions,
    url: options.appUrl,
    applicationName: 'transaction-risk queue',
    supervise: false,
  });
  const supervisor = createBoss({
    ...bossOptions,
    url: options.ownerUrl,
    applicationName: 'transaction-risk supervisor',
    supervise: true,
  });

  const pool = (): Db => orm.em.fork().getKysely();
  const tally = new HourlyTally();
  const flush = new Loop({
    everyMs: FLUSH_MS,
    work: () => tally.flush(pool()),
    onFault: fault('reports'),
  });
  const reportSums = createReportSumsLoop({
    transaction: transactionsOf(orm),
    clock,
    onFault: fault('reports'),
  });
  const pipelined = createPipelinedTransactions({
    url: options.appUrl,
    poolSize: PIPELINED_CONNECTIONS,
    applicationName: 'transaction-risk',
    statementTimeoutMs: 10_000,
    onPool: (pool) => pools.set('transactions', pool),
  });
  const { transaction, oneTrip } = pipelined;
  const requeue = (
    db: Db,
    refs: readonly { readonly siteId: bigint; readonly ingestionId: bigint }[],
  ): Promise<number> => requeueEvaluations(boss, db, refs);

  const webhooks = webhookQueue(boss);
  const evaluationFault = fault('evaluation');
  const evaluationOptions = {
    appUrl: options.appUrl,
    backend: options.backend,
    retryLimit: options.retryLimit,
    share: () => shareBeside(ingest.load.rows),
  };
  const evaluationReport = {
    judged(rows: readonly { readonly siteId: bigint; readonly receivedAt: number }[], now: number) {
      metrics.evaluations.inc({ outcome: 'succeeded' }, rows.length);
      tallyResults(tally, rows, now);
      for (const row of rows) {
        metrics.acceptToResultSeconds.observe(Math.max(0, now - row.receivedAt) / 1000);
      }
    },
    failed: (dead: boolean) => metrics.evaluations.inc({ outcome: dead ? 'dead' : 'failed' }),
  };
  const evaluations =
    options.evaluationThreads !== undefined
      ? new EvaluationThread({
          ...evaluationOptions,
          threads: options.evaluationThreads,
          report: evaluationReport,
          onFault(error) {
            metrics.faults.inc({ place: 'evaluation' });
            logFaultOf(log, 'evaluation', error);
          },
        })
      : createEvaluations({
          ...evaluationOptions,
          clock,
          report: { ...evaluationReport, fault: evaluationFault },
        });
  const deadLetters = createDeadLetterLoop({
    boss,
    transaction,
    clock,
    gaveUp: gaveUp(webhooks.record),
    onDead: () => metrics.evaluations.inc({ outcome: 'dead' }),
    onFault: fault('dead letters'),
  });
  const upkeep = createUpkeepLoop({
    transaction: transactionsOf(owner),
    requeue,
    clock,
    retention: { payloads: options.retentionDays, webhooks: options.webhooks.retentionDays },
    onRequeued: (count) => metrics.sweeperFindings.inc(count),
    onFault: fault('upkeep'),
  });
  /** Long work of the administrative side, by kind. */
  const taskHandlers: Record<string, TaskHandler> = {
    'dead_letters.redrive': redriveTask({ requeue, clock }),
    [RECOVER]: createRecoverHandler({ requeue: webhooks.requeue, clock }),
    [BACKTEST]: backtestTask,
    [COMPARE]: createCompareHandler({ appUrl: options.appUrl }),
    [TRAIN]: createTrainHandler({ appUrl: options.appUrl, clock }),
    [IMPORT]: createImportHandler({
      clock,
      ids: createIdSource(),
      evaluators: evaluationParts({ transaction, clock, recordWebhooks: webhooks.record })
        .evaluators,
      requeue,
      share: () => shareBeside(ingest.load.rows),
    }),
  };
  const sandboxRules = new RuleSource({ transaction: transactionsOf(orm), clock });
  const tasks = new TaskRunner({
    boss,
    transaction: transactionsOf(orm),
    clock,
    handlers: taskHandlers,
    onFault: fault('task'),
  });
  const trainings = createTrainingSchedule({
    transaction: transactionsOf(orm),
    startTask: (db, task) => startTask(boss, db, task),
    clock,
    onFault: fault('training schedule'),
  });
  const oldSecrets = new Loop({
    everyMs: FORGET_MS,
    work: () => forgetExpiredSecrets(pool(), clock.now()),
    onFault: fault('webhook secrets'),
  });
  const abandonedImports = createAbandonedImportsLoop({
    transaction: transactionsOf(orm),
    clock,
    onFault: fault('imports'),
  });
  const delivery = webhookParts({
    boss,
    appUrl: options.appUrl,
    clock,
    box: options.secretBox,
    registry: metrics.registry,
    ...options.webhooks,
    onFound: (count) => metrics.sweeperFindings.inc(count),
    onFault: fault('webhooks'),
  });
  const rateLimiter = new RateLimiter(pool);
  const ingest = new IngestQueue({
    transaction,
    oneTrip,
    admit: (credentialId) => rateLimiter.admit(credentialId),
    ids: createIdSource(),
    pool,
    enqueue: (db, rows) => enqueueAllEvaluations(boss, db, rows),
    now: () => clock.now(),
    onGroup({ rows, bytes, milliseconds }) {
      metrics.groupRows.observe(rows);
      metrics.groupBytes.observe(bytes);
      metrics.groupSeconds.observe(milliseconds / 1000);
    },
    onFault: fault('ingest'),
    onAccepted: () => evaluations.wake(),
    ...(options.ingestLimits === undefined ? {} : { limits: options.ingestLimits }),
  });
  registerGauges(metrics, {
    queuedRows: () => ingest.load.rows,
    queuedBytes: () => ingest.load.bytes,
  });
  registerPoolMetrics(metrics, pools);
  registerDatabaseMetrics(metrics, () => readDatabaseState(pool(), clock.now()));
  const keyUse = new KeyUse({ pool, clock, onFault: fault('key use') });
  const credentials = new CredentialCache({
    pool,
    clock,
    environment: options.environment,
    onAccepted: (hash) => keyUse.note(hash),
  });
  const loginFault = fault('failed logins');
  const failedLogins = new FailedLogins({
    pool,
    clock,
    // An absent database shows elsewhere; the counts wait for it.
    onFault: (error) => failureKind(error) === 'unforeseen' && loginFault(error),
  });
  const forget = setInterval(() => rateLimiter.forgetExpired(), 60_000).unref();

  const closers: (() => Promise<unknown>)[] = [
    () => pipelined.close(),
    () => delivery.close(),
    () => orm.close(true),
    () => owner.close(true),
  ];
  let closing: Promise<void> | undefined;
  return {
    metrics,
    api: {
      services: {
        orm,
        clock,
        ingest,
        lookUps: createStateLookUps(pool),
        requeueEvaluations: requeue,
        startTask: (db, task) => startTask(boss, db, task),
        rulesOf: createRulesOf(transactionsOf(orm)),
        rulesNow: (siteId) => sandboxRules.of(siteId),
        payloadRetentionDays: options.retentionDays,
        secretBox: options.secretBox,
        webhooks: {
          ...webhooks,
          allowPrivateNetworks: options.webhooks.allowPrivateNetworks,
        },
      },
      credentials,
      rateLimiter,
      failedKeys: new AddressLimiter(),
      failedLogins,
    },
    countAnswer: (siteId, operation, outcome) => tally.add(siteId, clock.now(), operation, outcome),
    ping: () => answers(orm),
    async start(parts) {
      await boss.start();
      closers.push(() => boss.stop({ graceful: false, close: true }));
      failedLogins.start();
      closers.push(() => failedLogins.stop());
      // Warmed here: the first group would otherwise read the queue's settings through another pool.
      await boss.getQueue(EVALUATE);
      flush.start();
      closers.push(async () => {
        await flush.stop();
        await tally.flush(pool());
      });
      if (parts.api) {
        credentials.start();
        closers.push(() => credentials.stop());
        keyUse.start();
        closers.push(() => keyUse.stop());
        closers.push(() => ingest.close());
      }
      if (parts.worker) {
        await startWorkers(supervisor, options);
        closers.push(() => supervisor.stop({ graceful: false, close: true }));
        closers.push(() => evaluations.stop());
        await evaluations.start();
        for (const part of [
          upkeep,
          reportSums,
          deadLetters,
          oldSecrets,
          abandonedImports,
          trainings,
          tasks,
          ...delivery.parts,
        ]) {
          part.start();
          closers.push(() => part.stop());
        }
      }
    },
    close() {
      closing ??= (async () => {
        clearInterval(forget);
        for (const closer of closers.toReversed()) await closer().catch(fault('close'));
      })();
      return closing;
    },
  };
}

async function startWorkers(supervisor: PgBoss, options: WireOptions): Promise<void> {
  await supervisor.start();
  await supervisor.updateQueue(
    EVALUATE,
    evaluateQueueOptions({ limit: options.retryLimit, delaySeconds: options.retryDelaySeconds }),
  );
}

/** Runs work in one transaction of a fresh entity manager, thrown away afterwards. */
function transactionsOf(orm: MikroORM): Transaction {
  return (work) => orm.em.fork().transactional((em) => work(em.getKysely()));
}

async function answers(orm: MikroORM): Promise<boolean> {
  try {
    await orm.em.fork().getConnection().execute('select 1');
    return true;
  } catch {
    return false;
  }
}
