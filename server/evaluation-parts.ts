import type { BatchParts } from '../jobs/evaluate-batch.ts';
import type { GaveUp } from '../jobs/evaluation-worker.ts';
import { defaultEvaluators } from '../jobs/evaluators.ts';
import type { Clock } from '../ledger/clock.ts';
import type { Transaction } from '../ledger/transactions.ts';
import { evaluated, recordEvaluationFailed } from '../ledger/webhook-causes.ts';
import type { RecordWebhookEvents } from '../ledger/webhook-events.ts';

/** What the parts of an evaluation may reach: evaluations run on a thread of their own, so nothing else is there. */
export interface EvaluationReach {
  readonly transaction: Transaction;
  readonly clock: Clock;
  readonly recordWebhooks: RecordWebhookEvents;
}

/** What judges batches and what their results bring about: the one place to add to either. */
export function evaluationParts({
  recordWebhooks,
}: EvaluationReach): BatchParts & { readonly gaveUp: GaveUp } {
  return {
    evaluators: defaultEvaluators(),
    record: (db, judged, now) =>
      recordWebhooks(
        db,
        judged.map(({ row, judgement }) => evaluated(row, judgement.risk, now)),
        now,
      ),
    gaveUp: (db, ref, now) => recordEvaluationFailed(db, ref, now, recordWebhooks),
  };
}
