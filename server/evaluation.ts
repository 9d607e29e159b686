import { webhookQueue } from '../jobs/enqueue-webhooks.ts';
import { EvaluationWorker, type EvaluationReport } from '../jobs/evaluation-worker.ts';
import { createBoss, EVALUATE } from '../jobs/queues.ts';
import type { Clock } from '../ledger/clock.ts';
import { failureKind } from '../ledger/failures.ts';
import { createPipelinedTransactions } from '../ledger/transactions.ts';
import { evaluationParts } from './evaluation-parts.ts';

/** What evaluations need, wherever they run. */
export interface EvaluationOptions {
  readonly appUrl: string;
  readonly backend: 'postgres' | 'citus';
  readonly retryLimit: number;
  readonly clock: Clock;
  readonly report: EvaluationReport;
  /** The share of the time that they may take now; see EvaluationWorkerOptions. */
  readonly share: () => number;
}

/** Evaluations, wherever they run. */
export interface Evaluations {
  /** Resolves when jobs are claimed; rejects while the database is away. */
  start(): Promise<void>;
  /** There is something to evaluate: look now instead of at the next poll. */
  wake(): void;
  /** Settles the batches in hand and ends; safe before `start` and twice. */
  stop(): Promise<void>;
}

/** Connections: a batch, the one read ahead, a failed attempt, and what judges look up. */
const CONNECTIONS = 4;

/** Share of the time that evaluations keep while requests queue up: they fall behind, and catch up afterwards. */
const YIELDING_SHARE = 0.25;

/** How many submissions must wait for a group commit before evaluations yield: more than fit into the next group. */
const YIELD_AT_ROWS = 256;

/** The share of the time for evaluations while so many submissions wait. */
export function shareBeside(queuedRows: number): number {
  return queuedRows > YIELD_AT_ROWS ? YIELDING_SHARE : 1;
}

/** Evaluations on this very thread, on connections of their own. */
export function createEvaluations(options: EvaluationOptions): Evaluations {
  const { appUrl, clock, report } = options;
  const boss = createBoss({
    url: appUrl,
    backend: options.backend,
    applicationName: 'transaction-risk evaluation queue',
    supervise: false,
    migrate: false,
    onError(error) {
      if (failureKind(error) === 'unforeseen') report.fault(error);
    },
  });
  const pipelined = createPipelinedTransactions({
    url: appUrl,
    poolSize: CONNECTIONS,
    applicationName: 'transaction-risk evaluation',
    statementTimeoutMs: 10_000,
  });
  const { transaction } = pipelined;
  const { rules, ...parts } = evaluationParts({
    transaction,
    clock,
    recordWebhooks: webhookQueue(boss).record,
    onFault: (error) => report.fault(error),
  });
  const worker = new EvaluationWorker({
    boss,
    transaction,
    clock,
    retryLimit: options.retryLimit,
    ...parts,
    report,
    share: options.share,
  });
  let stopping: Promise<void> | undefined;
  let started = false;
  return {
    async start() {
      await boss.start();
      started = true;
      await boss.getQueue(EVALUATE);
      worker.start();
      rules.start();
    },
    wake: () => worker.wake(),
    stop() {
      stopping ??= (async () => {
        await worker.stop();
        await rules.stop();
        if (started) await boss.stop({ graceful: false, close: true });
        await pipelined.close();
      })();
      return stopping;
    },
  };
}
