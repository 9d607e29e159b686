import { z } from 'zod';
import type { ObjectiveCounts } from '../../ledger/reports/objectives.ts';
import { UtcInstant } from './fields.ts';
import { ratio } from './rule-quality.ts';

/** The service's objectives as the contract gives them: the share that must be good. */
const TARGETS = {
  ingestion_availability: 0.999,
  evaluation_within_5_minutes: 0.95,
  webhook_delivery: 0.995,
} as const;

const ObjectiveOut = z.strictObject({
  objective: z.enum(['ingestion_availability', 'evaluation_within_5_minutes', 'webhook_delivery']),
  target: z.number(),
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
  evaluation_p95: z.enum(['none', '1 s', '5 s', '15 s', '60 s', '300 s', '1800 s', 'longer']),
  objectives: z.array(ObjectiveOut),
});

/** Objectives and error budgets of what was counted. */
export function objectivesOf(counts: ObjectiveCounts) {
  const { p95AtMostSeconds: p95 } = counts;
  return {
    evaluation_p95: (p95 === null ? 'none' : p95 === Infinity ? 'longer' : `${p95} s`) as z.infer<
      typeof ObjectivesOut
    >['evaluation_p95'],
    objectives: [
      objectiveOf('ingestion_availability', counts.submissions),
      objectiveOf('evaluation_within_5_minutes', counts.results),
      objectiveOf('webhook_delivery', counts.webhooks),
    ],
  };
}

function objectiveOf(
  objective: keyof typeof TARGETS,
  { good, bad }: { readonly good: number; readonly bad: number },
): z.infer<typeof ObjectiveOut> {
  const target = TARGETS[objective];
  const achieved = ratio(good, good + bad);
  const budget = Math.round((1 - target) * (good + bad) * 1000) / 1000;
  return {
    objective,
    target,
    good,
    bad,
    achieved,
    met: achieved === null ? null : achieved >= target,
    budget,
    budget_left: budget === 0 ? null : 1 - bad / budget,
  };
}
