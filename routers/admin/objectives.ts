import { z } from 'zod';
import type { ObjectiveCounts } from '../../ledger/reports/objectives.ts';
import { UtcInstant } from './fields.ts';
import { ratio } from './rule-quality.ts';

/** The service's objectives as the contract gives them: the share that must be good. */
const OBJECTIVES = { ingestion: 0.999, evaluation: 0.95, webhooks: 0.995 } as const;

const ObjectiveOut = z.strictObject({
  objective: z.number(),
  good: z.int().min(0),
  bad: z.int().min(0),
  achieved: z.number().min(0).max(1).nullable(),
  met: z.boolean().nullable(),
  budget: z.number().min(0).meta({ description: 'What may go wrong of the month so far' }),
  budget_left: z
    .number()
    .max(1)
    .nullable()
    .meta({ description: 'Share of it that is left; below 0 when overspent' }),
});

/** The answer of reports.slo. */
export const ObjectivesOut = z.strictObject({
  month: z.string(),
  complete_to: UtcInstant.nullable(),
  ingestion_availability: ObjectiveOut,
  evaluation_within_5_minutes: ObjectiveOut,
  evaluation_p95: z.enum(['none', '1 s', '5 s', '15 s', '60 s', '300 s', '1800 s', 'longer']),
  webhook_delivery: ObjectiveOut,
});

/** Objectives and error budgets of what was counted. */
export function objectivesOf(counts: ObjectiveCounts) {
  const { p95AtMostSeconds: p95 } = counts;
  return {
    ingestion_availability: objectiveOf(OBJECTIVES.ingestion, counts.submissions),
    evaluation_within_5_minutes: objectiveOf(OBJECTIVES.evaluation, counts.results),
    evaluation_p95: (p95 === null ? 'none' : p95 === Infinity ? 'longer' : `${p95} s`) as z.infer<
      typeof ObjectivesOut
    >['evaluation_p95'],
    webhook_delivery: objectiveOf(OBJECTIVES.webhooks, counts.webhooks),
  };
}

function objectiveOf(
  objective: number,
  { good, bad }: { readonly good: number; readonly bad: number },
): z.infer<typeof ObjectiveOut> {
  const achieved = ratio(good, good + bad);
  const budget = Math.round((1 - objective) * (good + bad) * 1000) / 1000;
  return {
    objective,
    good,
    bad,
    achieved,
    met: achieved === null ? null : achieved >= objective,
    budget,
    budget_left: budget === 0 ? null : 1 - bad / budget,
  };
}
