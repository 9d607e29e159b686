import type { RiskDecision, RiskLevel } from '../contract/risk.ts';
import type { Rule } from './rules/rule.ts';

/**
 * From hits to a decision, in this order and nowhere else:
 *
 * 1. of the hits of one group only the one with most points counts (the earlier rule at a tie);
 * 2. the points that count combine to the score;
 * 3. where a model is live, its points count if they are more: the higher of the two is the score;
 * 4. the score alone gives level and decision.
 *
 * The higher one, not the sum: a model has learned from what the rules look at, and would count it twice. Operators'
 * lists and caps on blocking, which can overrule a score, belong between 3 and 4.
 */

/** One hit of a rule, with its sentence. */
export interface Hit {
  readonly rule: Rule;
  readonly sentence: string;
}

/** Lowest score of each band, highest first; the decision follows the level. */
const BANDS: readonly { from: number; level: RiskLevel; decision: RiskDecision }[] = [
  { from: 85, level: 'critical', decision: 'BLOCK_RECOMMENDED' },
  { from: 60, level: 'high', decision: 'HOLD_RECOMMENDED' },
  { from: 30, level: 'medium', decision: 'REVIEW' },
  { from: 0, level: 'low', decision: 'ALLOW' },
];

/** The hits that count, those with most points first; at a tie in the order of the rule set. */
export function countingHits(hits: readonly Hit[]): Hit[] {
  if (hits.length < 2) return [...hits];
  const strongest = new Map<string, Hit>();
  for (const hit of hits) {
    const group = hit.rule.group ?? `rule ${hit.rule.id}`;
    const other = strongest.get(group);
    if (other === undefined || hit.rule.points > other.rule.points) strongest.set(group, hit);
  }
  return [...strongest.values()].sort((a, b) => b.rule.points - a.rule.points);
}

/**
 * The score, integer 0..100: 100 x (1 - product of (1 - points / 100)), rounded. Each hit takes its share of what is
 * left to certainty, so that many weak hits approach 100 and never pass it, and no order of rules matters.
 */
export function combinePoints(points: readonly number[]): number {
  const descending = points.toSorted((a, b) => b - a);
  const left = descending.reduce((product, each) => product * (1 - each / 100), 1);
  return Math.min(100, Math.max(0, Math.round(100 * (1 - left))));
}

/**
 * Points of a model's probability, integer 0..100: its cube root. One fraud in 37 of the like is worth a look (30), one
 * in five a hold (60), and from 61 % on blocking is recommended (85).
 */
export function modelPoints(probability: number): number {
  return Math.min(100, Math.max(0, Math.round(100 * Math.cbrt(probability))));
}

/** Level and decision of a score: low < 30 <= medium < 60 <= high < 85 <= critical. */
export function bandOf(score: number): { level: RiskLevel; decision: RiskDecision } {
  for (const { from, level, decision } of BANDS) if (score >= from) return { level, decision };
  return { level: 'low', decision: 'ALLOW' };
}
