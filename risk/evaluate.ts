import type { Risk } from '../contract/risk.ts';
import { bandOf, combinePoints, countingHits, type Hit } from './decision.ts';
import type { RiskEvent } from './event.ts';
import type { Features } from './features/vector.ts';
import type { CompiledRule, CompiledRuleSet, Gate } from './rules/compile.ts';
import { DEFAULT_RULES } from './rules/default-rules.ts';
import type { RuleAnswer } from './rules/rule.ts';

/** Version of the judging code; raised whenever the same event, features and rules could be judged differently. */
export const EVALUATOR_CODE_VERSION = '1.0.0';

/** The reason given where no rule has hit. */
export const NO_INDICATOR = 'No risk indicator above its threshold.';

/** The result for one event; the caller's clock adds evaluated_at. */
export interface Judgement {
  readonly risk: Omit<Risk, 'evaluated_at' | 'rule_scores'> & {
    /** Points of each hit that counted, by rule id. */
    readonly rule_scores: Readonly<Record<string, number>>;
  };
  /** The answer of every rule, in the order of the rule set: an object by id would cost more than the rules. */
  readonly answers: readonly RuleAnswer[];
}

/**
 * Judges one event: the same facts, features and rules always give the same result, to the last bit. Never throws; a
 * rule that fails answers ERROR and counts nothing.
 */
export function judge(
  event: Pick<RiskEvent, 'facts'>,
  features: Features,
  rules: CompiledRuleSet = DEFAULT_RULES,
): Judgement {
  fillContext(event, features, rules);
  const gates: (boolean | 'ERROR' | undefined)[] = [];
  const answers: RuleAnswer[] = [];
  const hits: Hit[] = [];
  for (const compiled of rules.rules) {
    const answer = answerOf(compiled, features, rules, gates);
    answers.push(answer);
    if (answer === 'HIT') hits.push({ rule: compiled.rule, sentence: wordHit(compiled, rules) });
  }
  const counting = countingHits(hits);
  const score = combinePoints(counting.map((hit) => hit.rule.points));
  return {
    risk: {
      score,
      ...bandOf(score),
      reasons: counting.length === 0 ? [NO_INDICATOR] : counting.map((hit) => hit.sentence),
      rule_scores: Object.fromEntries(counting.map(({ rule }) => [rule.id, rule.points])),
      evaluator_version: evaluatorVersion(rules),
    },
    answers,
  };
}

/** Names everything that a result depends on besides the event and its features. */
export function evaluatorVersion({ set, contentHash }: CompiledRuleSet): string {
  return `${EVALUATOR_CODE_VERSION}+rules.${set.id}-${set.version}.${contentHash}+model.none`;
}

function fillContext(
  event: Pick<RiskEvent, 'facts'>,
  { values }: Features,
  { context, features, labels }: CompiledRuleSet,
): void {
  context.event = event.facts;
  for (const [name, position] of features) context.features[name] = present(values[position]);
  for (const [name, position] of labels) context.labels[name] = present(values[position]);
}

function present(value: number | undefined): number | undefined {
  return value === undefined || Number.isNaN(value) ? undefined : value;
}

function answerOf(
  { expressions }: CompiledRule,
  features: Features,
  rules: CompiledRuleSet,
  gates: (boolean | 'ERROR' | undefined)[],
): RuleAnswer {
  if (expressions === undefined) return 'ERROR';
  const { values } = features;
  if (expressions.gate !== undefined) {
    const gate = (gates[expressions.gate] ??= gateAnswer(rules, features, expressions.gate));
    if (gate !== true) return gate === 'ERROR' ? 'ERROR' : 'NOT_APPLICABLE';
  }
  for (const position of expressions.entities) {
    if (Number.isNaN(values[position])) return 'NOT_APPLICABLE';
  }
  for (const fact of expressions.facts) {
    if (rules.context.event?.[fact] === undefined) return 'NOT_APPLICABLE';
  }
  for (const [position, least] of expressions.needs) {
    // Written so that an absent value, NaN, fails it too.
    if (!((values[position] as number) >= least)) return 'INSUFFICIENT_HISTORY';
  }
  try {
    const answer = expressions.when(rules.context);
    if (answer === true) return 'HIT';
    return answer === false ? 'NO_HIT' : 'ERROR';
  } catch {
    return 'ERROR';
  }
}

function gateAnswer(
  rules: CompiledRuleSet,
  { values }: Features,
  index: number,
): boolean | 'ERROR' {
  const { run, positions, facts } = rules.gates[index] as Gate;
  for (const position of positions) if (Number.isNaN(values[position])) return false;
  for (const fact of facts) if (rules.context.event?.[fact] === undefined) return false;
  try {
    const answer = run(rules.context);
    return typeof answer === 'boolean' ? answer : 'ERROR';
  } catch {
    return 'ERROR';
  }
}

function wordHit({ rule, expressions }: CompiledRule, { context }: CompiledRuleSet): string {
  return expressions?.sentence.word(context.features, context.labels) ?? rule.reason;
}
