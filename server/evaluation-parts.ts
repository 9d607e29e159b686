import type { BatchParts } from '../jobs/evaluate-batch.ts';
import type { GaveUp } from '../jobs/evaluation-lane.ts';
import { siteEvaluators } from '../jobs/evaluators.ts';
import { ModelSource } from '../jobs/site-models.ts';
import { RuleSource } from '../jobs/site-rules.ts';
import type { Clock } from '../ledger/clock.ts';
import { together, type Transaction } from '../ledger/transactions.ts';
import { evaluated, recordEvaluationFailed } from '../ledger/webhook-causes.ts';
import type { RecordWebhookEvents } from '../ledger/webhook-events.ts';

/** What the parts of an evaluation may reach: evaluations run on a thread of their own, so nothing else is there. */
export interface EvaluationReach {
  readonly transaction: Transaction;
  readonly clock: Clock;
  readonly recordWebhooks: RecordWebhookEvents;
  readonly onFault?: (error: unknown) => void;
}

/** The parts of an evaluation, and what follows releases beside them while it is started. */
export interface EvaluationParts extends BatchParts {
  readonly gaveUp: GaveUp;
  readonly rules: RuleSource;
}

/** What judges batches and what their results bring about: the one place to add to either. */
export function evaluationParts({
  transaction,
  clock,
  recordWebhooks,
  onFault,
}: EvaluationReach): EvaluationParts {
  const models = new ModelSource({ transaction, clock });
  const rules = new RuleSource({
    transaction,
    clock,
    ...(onFault === undefined ? {} : { onFault }),
  });
  return {
    rules,
    evaluators: siteEvaluators(models, rules),
    async record(db, judged, now) {
      await together(
        recordWebhooks(
          db,
          judged.map(({ row, judgement }) => evaluated(row, judgement.risk, now)),
          now,
        ),
        models.recordShadows(db, judged, now),
        rules.record(db, judged, now),
      );
    },
    gaveUp: gaveUp(recordWebhooks),
  };
}

/** What a new dead letter brings about, wherever it was opened. */
export function gaveUp(recordWebhooks: RecordWebhookEvents): GaveUp {
  return (db, ref, now) => recordEvaluationFailed(db, ref, now, recordWebhooks);
}
