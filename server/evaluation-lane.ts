import type { PgBoss } from 'pg-boss';
import { webhookQueue } from '../jobs/enqueue-webhooks.ts';
import { EvaluationLane, type EvaluationReport, type Lane } from '../jobs/evaluation-lane.ts';
import { createBoss, EVALUATE } from '../jobs/queues.ts';
import type { Clock } from '../ledger/clock.ts';
import { failureKind } from '../ledger/failures.ts';
import { createPipelinedTransactions } from '../ledger/transactions.ts';
import { evaluationParts } from './evaluation-parts.ts';

/** What a lane needs, on whatever thread it runs. */
export interface LaneOptions {
  readonly appUrl: string;
  readonly backend: 'postgres' | 'citus';
  readonly retryLimit: number;
  readonly clock: Clock;
  readonly report: EvaluationReport;
  /** The share of the time that evaluations may take now; see EvaluationLaneOptions. */
  readonly share: () => number;
}

/** A lane that runs. */
export interface RunningLane extends Lane {
  /** Resolves when it can settle; rejects while the database is away. */
  start(): Promise<void>;
  /** Has no more patience with a database that is away. */
  hurry(): void;
  /** Settles what it has and ends; safe before `start` and twice. */
  stop(): Promise<void>;
}

/** Connections: a batch, the one read ahead, a failed attempt, and what judges look up. */
const CONNECTIONS = 4;

/** A lane on this very thread, with connections of its own and a queue's client that others may share. */
export function createLane(options: LaneOptions): RunningLane & { readonly boss: PgBoss } {
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
  const lane = new EvaluationLane({
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
    boss,
    async start() {
      await boss.start();
      started = true;
      await boss.getQueue(EVALUATE);
      rules.start();
    },
    settle: (claims) => lane.settle(claims),
    hurry: () => lane.hurry(),
    stop() {
      stopping ??= (async () => {
        await lane.stop();
        await rules.stop();
        if (started) await boss.stop({ graceful: false, close: true });
        await pipelined.close();
      })();
      return stopping;
    },
  };
}
