import type { BatchParts } from '../jobs/evaluate-batch.ts';
import { defaultEvaluators } from '../jobs/evaluators.ts';
import type { Clock } from '../ledger/clock.ts';
import type { Transaction } from '../ledger/transactions.ts';

/** What the parts of an evaluation may reach: evaluations run on a thread of their own, so nothing else is there. */
export interface EvaluationReach {
  readonly transaction: Transaction;
  readonly clock: Clock;
}

/** What judges batches and what their results bring about: the one place to add to either. */
export function evaluationParts(_reach: EvaluationReach): BatchParts {
  return {
    evaluators: defaultEvaluators(),
  };
}
