import { hash } from 'node:crypto';
import { canonicalJson } from '../../contract/canonical-json.ts';
import { ENTITY_KINDS } from '../entities.ts';
import { FEATURES, featurePosition } from '../features/definitions.ts';
import type { EventFacts } from '../facts.ts';
import {
  compileExpression,
  emptyContext,
  ExpressionError,
  type Expression,
  type ExpressionContext,
} from './expression.ts';
import type { BlockCap, Rule, RuleProblem, RuleSet, Thresholds } from './rule.ts';
import { compileSentence, type Sentence } from './sentence.ts';

/** A rule ready to answer; `expressions` is undefined where the rule is broken and can only answer ERROR. */
export interface CompiledRule {
  readonly rule: Rule;
  readonly expressions?: {
    /** Index into the set's gates; undefined where the rule always applies. */
    readonly gate: number | undefined;
    readonly when: Expression['run'];
    readonly sentence: Sentence;
    /** Positions of `<kind>_known` of the entities that the rule reads: absent = the event does not name them. */
    readonly entities: readonly number[];
    /** Facts that `when` reads: undefined = the event does not tell. */
    readonly facts: readonly (keyof EventFacts)[];
    /** Positions of features that must be present, and the least value of each. */
    readonly needs: readonly (readonly [position: number, least: number])[];
  };
}

/** A compiled `applies`: false where a feature, label or fact that it reads is absent. */
export interface Gate {
  readonly run: Expression['run'];
  readonly positions: readonly number[];
  readonly facts: readonly (keyof EventFacts)[];
}

/** A rule set ready to judge. Not shared between threads; judging with it is synchronous and leaves no trace. */
export interface CompiledRuleSet {
  readonly set: RuleSet;
  /** First 8 hex digits of SHA-256 over the canonical JSON of all that can change an answer. */
  readonly contentHash: string;
  /** What results name it by: `rules.default-2.1f0c2d3e`, and of a Site with rules of its own `+site.4.…` behind it. */
  readonly name: string;
  readonly thresholds: Thresholds;
  readonly blockCap: BlockCap;
  readonly rules: readonly CompiledRule[];
  /** The different `applies` expressions: each is evaluated once per event, however many rules share it. */
  readonly gates: readonly Gate[];
  /** Names and positions of the numbers that any rule reads; only these are put into `context`. */
  readonly features: readonly (readonly [name: string, position: number])[];
  readonly labels: readonly (readonly [name: string, position: number])[];
  /** Reused for every event, so that judging allocates nothing per feature. */
  readonly context: ExpressionContext;
  /** Why rules are broken; empty for a set that may be published. */
  readonly problems: readonly RuleProblem[];
}

/** Scores from which decisions are recommended where no rule set says otherwise. */
export const DEFAULT_THRESHOLDS: Thresholds = { review: 30, hold: 60, block: 85 };

/** A quarter of an hour's traffic, and at least a hundred events: more is rather a mistake in the rule than fraud. */
export const DEFAULT_BLOCK_CAP: BlockCap = { share: 0.25, least: 100 };

/** Ids that begin so would be mistaken for what rule_scores holds besides rules. */
export const RESERVED_PREFIXES = ['model_', 'list_', 'cap_'] as const;

const KNOWN_POSITIONS = new Map(ENTITY_KINDS.map((kind) => [kind, positionOf(`${kind}_known`)]));

/** Position of a name that has been checked to be a feature's. */
function positionOf(name: string): number {
  return featurePosition(name) as number;
}

/**
 * Compiles a rule set once, for as many events as it judges. Never throws: a broken rule answers ERROR and is named in
 * `problems`.
 */
export function compileRuleSet(set: RuleSet): CompiledRuleSet {
  const problems: RuleProblem[] = [];
  const gates = new Map<string, { index: number; expression: Expression }>();
  const seen = new Set<string>();
  const read = { features: new Set<string>(), labels: new Set<string>() };
  const rules = set.rules.map((rule): CompiledRule => {
    const before = problems.length;
    const report = (where: RuleProblem['where'], error: unknown): undefined => {
      problems.push(problemOf(rule, where, error));
      return undefined;
    };
    checkShape(rule, seen, report);
    const limits = rule.limits ?? {};
    const when = attempt(() => compileExpression(rule.when, limits), 'when', report);
    const gate = attempt(() => gateOf(rule, gates), 'applies', report);
    const sentence = attempt(() => compileSentence(rule.message, limits), 'message', report);
    if (problems.length > before || when === undefined || sentence === undefined) return { rule };
    for (const variable of ['features', 'labels'] as const) {
      for (const name of when.all[variable]) read[variable].add(name);
      for (const name of gate?.expression.all[variable] ?? []) read[variable].add(name);
      for (const name of sentence[variable]) read[variable].add(name);
    }
    const required = [...when.required.features, ...Object.keys(rule.needs ?? {})];
    const entities = new Set<number>();
    for (const name of [...required, ...when.required.labels]) {
      const entity = FEATURES[positionOf(name)]?.entity;
      if (entity !== undefined) entities.add(KNOWN_POSITIONS.get(entity) as number);
    }
    return {
      rule,
      expressions: {
        gate: gate?.index,
        when: when.run,
        sentence,
        entities: [...entities],
        facts: [...when.required.event] as (keyof EventFacts)[],
        needs: [...new Set(required)].map((name) => [
          positionOf(name),
          rule.needs?.[name] ?? -Infinity,
        ]),
      },
    };
  });
  checkSet(set, problems);
  const hashed = contentHash(set);
  return {
    set,
    contentHash: hashed,
    name: `rules.${set.id}-${set.version}.${hashed}`,
    thresholds: set.thresholds ?? DEFAULT_THRESHOLDS,
    blockCap: set.block_cap ?? DEFAULT_BLOCK_CAP,
    rules,
    gates: [...gates.values()].map(({ expression: { run, required } }) => ({
      run,
      positions: [...required.features, ...required.labels].map(positionOf),
      facts: [...required.event] as (keyof EventFacts)[],
    })),
    features: [...read.features].map((name) => [name, positionOf(name)]),
    labels: [...read.labels].map((name) => [name, positionOf(name)]),
    context: emptyContext(read.features, read.labels),
    problems,
  };
}

/**
 * The rules that judge a Site: those for all Sites, without what the Site's own set leaves out or says anew under the
 * same id, and the Site's others behind them. Thresholds and cap are the Site's where it has any.
 */
export function composeRuleSets(forAll: RuleSet, site: RuleSet | undefined): CompiledRuleSet {
  if (site === undefined) return compileRuleSet(forAll);
  const own = new Map(site.rules.map((rule) => [rule.id, rule]));
  const left = new Set(site.without);
  const shared = forAll.rules.filter(({ id }) => !left.has(id) || own.has(id));
  const known = new Set(shared.map(({ id }) => id));
  const thresholds = site.thresholds ?? forAll.thresholds;
  const blockCap = site.block_cap ?? forAll.block_cap;
  const composed = compileRuleSet({
    id: forAll.id,
    version: forAll.version,
    rules: [
      ...shared.map((rule) => own.get(rule.id) ?? rule),
      ...site.rules.filter(({ id }) => !known.has(id)),
    ],
    ...(thresholds === undefined ? {} : { thresholds }),
    ...(blockCap === undefined ? {} : { block_cap: blockCap }),
  });
  const base = `rules.${forAll.id}-${forAll.version}.${contentHash(forAll)}`;
  return { ...composed, name: `${base}+site.${site.version}.${contentHash(site)}` };
}

function checkSet(set: RuleSet, problems: RuleProblem[]): void {
  const { review, hold, block } = set.thresholds ?? DEFAULT_THRESHOLDS;
  const isOrdered = 1 <= review && review <= hold && hold <= block && block <= 101;
  if (!isOrdered || ![review, hold, block].every(Number.isInteger)) {
    const message = 'must be integers with 1 <= review <= hold <= block <= 101';
    problems.push({ rule: '', where: 'thresholds', message });
  }
  const { share, least } = set.block_cap ?? DEFAULT_BLOCK_CAP;
  if (!(share > 0 && share <= 1 && Number.isInteger(least) && least >= 0)) {
    const message = 'must have a share above 0 and at most 1, and an integer `least` from 0';
    problems.push({ rule: '', where: 'block_cap', message });
  }
}

function attempt<T>(
  compile: () => T,
  where: RuleProblem['where'],
  report: (where: RuleProblem['where'], error: unknown) => undefined,
): T | undefined {
  try {
    return compile();
  } catch (error: unknown) {
    return report(where, error);
  }
}

function gateOf(
  rule: Rule,
  gates: Map<string, { index: number; expression: Expression }>,
): { index: number; expression: Expression } | undefined {
  if (rule.applies === undefined) return undefined;
  const key = JSON.stringify([rule.applies, rule.limits]);
  const shared = JSON.stringify([rule.applies]);
  const known = gates.get(shared) ?? gates.get(key);
  if (known !== undefined) return known;
  const withoutLimits = attempt(
    () => compileExpression(rule.applies as string, {}),
    'applies',
    () => undefined,
  );
  const expression = withoutLimits ?? compileExpression(rule.applies, rule.limits ?? {});
  const gate = { index: gates.size, expression };
  gates.set(withoutLimits === undefined ? key : shared, gate);
  return gate;
}

function checkShape(
  rule: Rule,
  seen: Set<string>,
  report: (where: RuleProblem['where'], error: unknown) => undefined,
): void {
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(rule.id)) {
    report('id', new RangeError('must be lower-case words joined by underscores, at most 64'));
  }
  if (RESERVED_PREFIXES.some((prefix) => rule.id.startsWith(prefix))) {
    report('id', new RangeError(`must not begin with ${RESERVED_PREFIXES.join(', ')}`));
  }
  if (seen.has(rule.id)) report('id', new RangeError('is the id of another rule of the set'));
  seen.add(rule.id);
  if (!(rule.points >= 1 && rule.points <= 100 && Number.isInteger(rule.points))) {
    report('points', new RangeError('must be an integer from 1 to 100'));
  }
  for (const name of Object.keys(rule.needs ?? {})) {
    if (featurePosition(name) === undefined) {
      report('needs', new RangeError(`names ${name}, which is no feature`));
    }
  }
  for (const [name, value] of Object.entries(rule.limits ?? {})) {
    if (!/^[a-z][a-z0-9_]{0,63}$/.test(name) || !Number.isFinite(value)) {
      report('limits', new RangeError('must be finite numbers with lower-case names'));
    }
  }
}

function problemOf(rule: Rule, where: RuleProblem['where'], error: unknown): RuleProblem {
  const message = error instanceof Error ? error.message : 'is not readable';
  const base = { rule: rule.id, where, message };
  if (!(error instanceof ExpressionError) || error.start === undefined) return base;
  return { ...base, start: error.start, end: error.end ?? error.start };
}

function contentHash(set: RuleSet): string {
  const rules = set.rules.map((rule) => {
    const { cases: _cases, ...content } = rule;
    return content;
  });
  const { id, version, without, thresholds, block_cap } = set;
  const content = {
    id,
    version,
    rules,
    ...(without === undefined ? {} : { without }),
    ...(thresholds === undefined ? {} : { thresholds: { ...thresholds } }),
    ...(block_cap === undefined ? {} : { block_cap: { ...block_cap } }),
  };
  let text: string;
  try {
    text = canonicalJson(content);
  } catch {
    // No JSON, such as a limit that is NaN: the rule is a problem already, and still wants a name for its results.
    text = JSON.stringify(content);
  }
  return hash('sha256', text, 'hex').slice(0, 8);
}
