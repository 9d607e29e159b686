import type { RiskDecision, RiskLevel } from '../contract/risk.ts';
import type { SingleKind } from './entities.ts';
import { DEFAULT_THRESHOLDS } from './rules/compile.ts';
import type { Rule, Thresholds } from './rules/rule.ts';

/**
 * From hits to a decision, in this order and nowhere else:
 *
 * 1. of the hits of one group only the one with most points counts (the earlier rule at a tie);
 * 2. the points that count combine to the score;
 * 3. where a model is live, its points count if they are more: the higher of the two is the score;
 * 4. operators' lists overrule it: on a block list the score is 100; else on an allow list it stays below a review;
 *    else on a watch list it is at least a review;
 * 5. a rule that has blocked its share of this hour's traffic blocks no more: an event that only such rules would block
 *    is reviewed, unless the others ask for more;
 * 6. the score alone gives level, by fixed bands, and decision, by the thresholds of the rule set.
 *
 * The higher one, not the sum: a model has learned from what the rules look at, and would count it twice.
 */

/** One hit of a rule, with its sentence. */
export interface Hit {
  readonly rule: Rule;
  readonly sentence: string;
}

/** The kinds of lists that operators keep. */
export const LISTS = ['allow', 'block', 'watch'] as const;
/** One of {@link LISTS}. */
export type ListName = (typeof LISTS)[number];

/** An entity of an event that is on a list. */
export interface Listing {
  readonly list: ListName;
  readonly kind: SingleKind;
}

/** Lowest score of each band, highest first. */
const BANDS: readonly { from: number; level: RiskLevel }[] = [
  { from: 85, level: 'critical' },
  { from: 60, level: 'high' },
  { from: 30, level: 'medium' },
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

/** Level and decision of a score: low < 30 <= medium < 60 <= high < 85 <= critical, decisions by the thresholds. */
export function bandOf(
  score: number,
  thresholds: Thresholds = DEFAULT_THRESHOLDS,
): { level: RiskLevel; decision: RiskDecision } {
  const level = BANDS.find(({ from }) => score >= from)?.level ?? 'low';
  return { level, decision: decisionOf(score, thresholds) };
}

function decisionOf(score: number, { review, hold, block }: Thresholds): RiskDecision {
  if (score >= block) return 'BLOCK_RECOMMENDED';
  if (score >= hold) return 'HOLD_RECOMMENDED';
  return score >= review ? 'REVIEW' : 'ALLOW';
}

/** The list that decides of those an event is on; undefined where none is. */
export function strongestList(listings: readonly Listing[]): ListName | undefined {
  if (listings.some(({ list }) => list === 'block')) return 'block';
  return listings.some(({ list }) => list === 'allow') ? 'allow' : listings[0]?.list;
}

/** What a list makes of a score. */
export function listedScore(score: number, list: ListName, { review }: Thresholds): number {
  if (list === 'block') return 100;
  return list === 'allow' ? Math.min(score, review - 1) : Math.max(score, Math.min(100, review));
}
