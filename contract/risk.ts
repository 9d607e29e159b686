import { z } from 'zod';
import { Instant } from './primitives.ts';

/** Band of the score: low < 30 <= medium < 60 <= high < 85 <= critical. */
export const RiskLevel = z.enum(['low', 'medium', 'high', 'critical']);
/** One of {@link RiskLevel}. */
export type RiskLevel = z.infer<typeof RiskLevel>;

/** What the service advises; the caller decides. */
export const RiskDecision = z.enum(['ALLOW', 'REVIEW', 'HOLD_RECOMMENDED', 'BLOCK_RECOMMENDED']);
/** One of {@link RiskDecision}. */
export type RiskDecision = z.infer<typeof RiskDecision>;

/** Result of one evaluation (contract, section 2.9). Holds nothing of the payload. */
export const Risk = z
  .object({
    score: z.int().min(0).max(100),
    level: RiskLevel,
    decision: RiskDecision,
    reasons: z.array(z.string()).meta({ description: 'Most important first.' }),
    rule_scores: z
      .looseObject({})
      .meta({ description: 'Points per rule and the model probability.' })
      .optional(),
    evaluator_version: z.string(),
    evaluated_at: Instant,
  })
  .meta({
    id: 'Risk',
    example: {
      score: 0,
      level: 'low',
      decision: 'ALLOW',
      reasons: ['No risk indicator above its threshold.'],
      rule_scores: {},
      evaluator_version: '1.1.0+rules.default-2.0ba09527+model.none',
      evaluated_at: '2026-03-01T00:00:02.120Z',
    },
  });
/** Result of one evaluation. */
export type Risk = z.infer<typeof Risk>;
