import type { TransactionEvent } from '../contract/transaction.ts';
import { circumstancesOf, judge, type Judgement } from './evaluate.ts';
import { EventFacts } from './facts.ts';
import type { Features } from './features/vector.ts';
import type { Model } from './model/model.ts';
import type { CompiledRuleSet } from './rules/compile.ts';

/** What is stored of a judgement: enough to make it again. */
export interface StoredJudgement {
  /** The accepted JSON. */
  readonly event: TransactionEvent;
  /** When it happened, as judgement took it: ms since 1970 UTC. */
  readonly at: number;
  readonly features: Features;
  readonly ruleScores: Readonly<Record<string, number>>;
  readonly evaluatorVersion: string;
}

/**
 * Judges an event again by the rules and the model that its result names: the same to the last bit, whatever rules, lists
 * and models have become since. Without the model its recorded probability stands in, and no reason words it.
 */
export function replay(
  { event, at, features, ruleScores, evaluatorVersion }: StoredJudgement,
  rules: CompiledRuleSet,
  model?: Model,
): Judgement {
  const circumstances = circumstancesOf(ruleScores, evaluatorVersion);
  return judge({ facts: new EventFacts(event, at) }, features, rules, model, circumstances);
}

/** The id of the model that a result names, as decimal text; undefined where the rules judged alone. */
export function modelNamedBy(evaluatorVersion: string): string | undefined {
  return /\+model\.(\d+)\.[0-9a-f]{8}$/.exec(evaluatorVersion)?.[1];
}
