import type { Risk } from '../contract/risk.ts';
import {
  bandOf,
  combinePoints,
  countingHits,
  listedScore,
  LISTS,
  modelPoints,
  strongestList,
  type Hit,
  type Listing,
} from './decision.ts';
import { SINGLE_KINDS, type SingleKind } from './entities.ts';
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

/** What a judgement depends on besides event, features, rules and model. All of it comes back out of rule_scores. */
export interface Circumstances {
  /** The lists that the event's entities are on. */
  readonly listed?: readonly Listing[];
  /** Rules that have blocked their share of this hour's traffic. */
  readonly capped?: ReadonlySet<string>;
  /** What a model said of the event, where the model itself is not at hand: it counts, and is not worded. */
  readonly probability?: number;
  /** Names the state of the lists in the result; undefined where the Site has none. */
  readonly listsVersion?: string;
}

/** The result for one event; the caller's clock adds evaluated_at. */
export interface Judgement {
  readonly risk: Omit<Risk, 'evaluated_at' | 'rule_scores'> & {
    /**
     * Points of each hit that counted, by rule id; the model's probability as {@link MODEL_PROBABILITY}; what lists made
     * of the score as `list_<list>_<entity>`; the score that a cap has lowered as `cap_<rule id>`.
     */
    readonly rule_scores: Readonly<Record<string, number>>;
  };
  /** The answer of every rule, in the order of the rule set: an object by id would cost more than the rules. */
  readonly answers: readonly RuleAnswer[];
  /** The rule that brought a recommendation to block about: of the rules' hits, where they alone are enough, the one with most points. */
  readonly blockedBy: string | undefined;
}

/**
 * Judges one event: the same facts, features, rules, model and circumstances always give the same result, to the last
 * bit. Never throws; a rule that fails answers ERROR and counts nothing.
 *
 * @param model  judges payments beside the rules; absent: rules alone
 */
export function judge(
  event: Pick<RiskEvent, 'facts'>,
  features: Features,
  rules: CompiledRuleSet = DEFAULT_RULES,
  model?: Model,
  circumstances: Circumstances = NOTHING_ELSE,
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
  const probability = probabilityFor(event, features, model, circumstances);
  const byModel = probability === undefined ? 0 : modelPoints(probability);
  if (probability !== undefined) ruleScores[MODEL_PROBABILITY] = probability;
  if (model !== undefined && probability !== undefined && byModel >= MODEL_REASON_POINTS) {
    insertReason(reasons, byModel, wordModel(model, features, probability));
  }
  let score = Math.max(combinePoints(pointsOf(counting)), byModel);
  const { block } = rules.thresholds;
  const { capped = NO_RULES, listed = NO_LISTS } = circumstances;
  const list = listed.length === 0 ? undefined : strongestList(listed);
  if (list !== undefined) {
    score = listedScore(score, list, rules.thresholds);
    for (const one of listed) {
      ruleScores[`list_${one.list}_${one.kind}`] = LIST_SCORES[one.list](rules);
      if (one.list === list) insertReason(reasons, list === 'watch' ? score : 100, wordList(one));
    }
  }
  let blocking = counting;
  if (score >= block && list !== 'block' && capped.size > 0) {
    blocking = counting.filter(({ rule }) => !capped.has(rule.id));
    const others = Math.max(combinePoints(pointsOf(blocking)), byModel);
    if (blocking.length < counting.length && others < block) {
      for (const { rule } of counting) {
        if (capped.has(rule.id)) ruleScores[`cap_${rule.id}`] = score;
      }
      score = Math.max(others, Math.min(score, rules.thresholds.hold - 1));
      insertReason(reasons, 100, CAPPED);
    }
  }
  const isByRules =
    score >= block && list !== 'block' && combinePoints(pointsOf(blocking)) >= block;
  return {
    risk: {
      score,
      ...bandOf(score, rules.thresholds),
      reasons: reasons.length === 0 ? [NO_INDICATOR] : reasons.map(({ sentence }) => sentence),
      rule_scores: ruleScores,
      evaluator_version: evaluatorVersion(rules, model, circumstances.listsVersion),
    },
    answers,
    blockedBy: isByRules ? blocking[0]?.rule.id : undefined,
  };
}

const NOTHING_ELSE: Circumstances = {};
const NO_RULES: ReadonlySet<string> = new Set();
const NO_LISTS: readonly Listing[] = [];

/** The reason given where a cap has turned a recommendation to block into a review. */
const CAPPED =
  'A rule that would recommend to block has reached its share of the traffic of this hour: to be reviewed.';

/** What rule_scores shows of a list: the score it demands. */
const LIST_SCORES: Record<Listing['list'], (rules: CompiledRuleSet) => number> = {
  block: () => 100,
  watch: ({ thresholds }) => thresholds.review,
  allow: () => 0,
};

const LISTED_WORDS: Record<SingleKind, string> = {
  card: 'card',
  customer: 'customer',
  device: 'device',
  ip_prefix: 'network',
  merchant: 'merchant',
};

const wordList = ({ kind, list }: Listing): string =>
  `The ${LISTED_WORDS[kind]} is on ${list === 'allow' ? 'an allow' : `a ${list}`} list.`;

const pointsOf = (hits: readonly Hit[]): number[] => hits.map(({ rule }) => rule.points);

function insertReason(
  reasons: { points: number; sentence: string }[],
  points: number,
  sentence: string,
): void {
  const place = reasons.findIndex((reason) => reason.points <= points);
  reasons.splice(place < 0 ? reasons.length : place, 0, { points, sentence });
}

function probabilityFor(
  event: Pick<RiskEvent, 'facts'>,
  features: Features,
  model: Model | undefined,
  { probability }: Circumstances,
): number | undefined {
  if (!event.facts.is_payment) return undefined;
  return model === undefined ? probability : probabilityOf(model, features);
}

const LISTING = new RegExp(`^list_(${LISTS.join('|')})_(${SINGLE_KINDS.join('|')})$`);

/**
 * The circumstances under which an event was judged, as its result tells them: with them, the rules and the model that
 * its version names, and the stored features it can be judged again to the last bit.
 */
export function circumstancesOf(
  ruleScores: Readonly<Record<string, number>>,
  evaluatorVersion: string,
): Circumstances {
  const listed: Listing[] = [];
  const capped = new Set<string>();
  for (const name of Object.keys(ruleScores)) {
    const [, list, kind] = LISTING.exec(name) ?? [];
    if (list !== undefined) listed.push({ list, kind } as Listing);
    else if (name.startsWith('cap_')) capped.add(name.slice('cap_'.length));
  }
  // The order of SINGLE_KINDS, in which an event names its entities: the database keeps keys in one of its own.
  listed.sort(
    (a, b) =>
      SINGLE_KINDS.indexOf(a.kind) - SINGLE_KINDS.indexOf(b.kind) ||
      LISTS.indexOf(a.list) - LISTS.indexOf(b.list),
  );
  const probability = ruleScores[MODEL_PROBABILITY];
  const listsVersion = /\+lists\.(\d+)/.exec(evaluatorVersion)?.[1];
  return {
    listed,
    capped,
    ...(probability === undefined ? {} : { probability }),
    ...(listsVersion === undefined ? {} : { listsVersion }),
  };
}

/** Names everything that a result depends on besides the event and its features. */
export function evaluatorVersion(
  { name }: CompiledRuleSet,
  model?: Model,
  listsVersion?: string,
): string {
  const lists = listsVersion === undefined ? '' : `+lists.${listsVersion}`;
  const modelName = model === undefined ? 'none' : `${model.id}.${model.contentHash}`;
  return `${EVALUATOR_CODE_VERSION}+${name}${lists}+model.${modelName}`;
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
