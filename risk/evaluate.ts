import type { Risk } from '../contract/risk.ts';
import { bandOf, combinePoints, countingHits, modelPoints, type Hit } from './decision.ts';
import type { RiskEvent } from './event.ts';
import type { Features } from './features/vector.ts';
import { probabilityOf, type Model } from './model/model.ts';
import { wordModel } from './model/reasons.ts';
import type { CompiledRule, CompiledRuleSet, Gate } from './rules/compile.ts';
import { DEFAULT_RULES } from './rules/default-rules.ts';
import type { RuleAnswer } from './rules/rule.ts';

/** Version of the judging code; raised whenever the same event, features and rules could be judged differently. */
export const EVALUATOR_CODE_VERSION = '1.1.0';

/** The reason given where no rule has hit. */
export const NO_INDICATOR = 'No risk indicator above its threshold.';

/** The key of the model's probability, 0 to 1, among rule_scores; no rule may have it as its id. */
export const MODEL_PROBABILITY = 'model_probability';

/** Points from which on the model gives a reason: those of the lowest band that is not let through. */
const MODEL_REASON_POINTS = 30;

/** The result for one event; the caller's clock adds evaluated_at. */
export interface Judgement {
  readonly risk: Omit<Risk, 'evaluated_at' | 'rule_scores'> & {
    /** Points of each hit that counted, by rule id, and the model's probability as {@link MODEL_PROBABILITY}. */
    readonly rule_scores: Readonly<Record<string, number>>;
  };
  /** The answer of every rule, in the order of the rule set: an object by id would cost more than the rules. */
  readonly answers: readonly RuleAnswer[];
}

/**
 * Judges one event: the same facts, features, rules and model always give the same result, to the last bit. Never
 * throws; a rule that fails answers ERROR and counts nothing.
 *
 * @param model  judges payments beside the rules; absent: rules alone
 */
export function judge(
  event: Pick<RiskEvent, 'facts'>,
  features: Features,
  rules: CompiledRuleSet = DEFAULT_RULES,
  model?: Model,
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
  const ruleScores: Record<string, number> = {};
  for (const { rule } of counting) ruleScores[rule.id] = rule.points;
  const reasons = counting.map(({ rule, sentence }) => ({ points: rule.points, sentence }));
  let score = combinePoints(reasons.map(({ points }) => points));
  if (model !== undefined && event.facts.is_payment) {
    const probability = probabilityOf(model, features);
    const points = modelPoints(probability);
    ruleScores[MODEL_PROBABILITY] = probability;
    score = Math.max(score, points);
    if (points >= MODEL_REASON_POINTS) {
      const place = reasons.findIndex((reason) => reason.points <= points);
      const reason = { points, sentence: wordModel(model, features, probability) };
      reasons.splice(place < 0 ? reasons.length : place, 0, reason);
    }
  }
  return {
    risk: {
      score,
      ...bandOf(score),
      reasons: reasons.length === 0 ? [NO_INDICATOR] : reasons.map(({ sentence }) => sentence),
      rule_scores: ruleScores,
      evaluator_version: evaluatorVersion(rules, model),
    },
    answers,
  };
}

/** Names everything that a result depends on besides the event and its features. */
export function evaluatorVersion({ set, contentHash }: CompiledRuleSet, model?: Model): string {
  const modelName = model === undefined ? 'none' : `${model.id}.${model.contentHash}`;
  return `${EVALUATOR_CODE_VERSION}+rules.${set.id}-${set.version}.${contentHash}+model.${modelName}`;
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
