import { z } from 'zod';
import {
  compileRuleSet,
  composeRuleSets,
  FACT_TYPES,
  FEATURES,
  runCases,
  type FailedCase,
  type RuleSet,
} from '../../risk/index.ts';
import { statement } from './fields.ts';

/** Rules of one set at most; with the limits of each text they bound what a judgement costs. */
const MOST_RULES = 200;

const Expression = z.string().min(1).max(2_000).meta({ description: 'CEL, true or false' });

const FACT_SCHEMAS = { string: z.string().max(40), bool: z.boolean(), double: z.number() };

const Case = z.strictObject({
  event: z
    .strictObject(
      Object.fromEntries(
        Object.entries(FACT_TYPES).map(([name, type]) => [name, FACT_SCHEMAS[type].optional()]),
      ),
    )
    .optional()
    .meta({ description: 'Facts that differ from an approved e-commerce payment of 10,000' }),
  features: z
    .record(z.string().max(80), z.number())
    .optional()
    .meta({ description: 'Values of features and labels by name' }),
  answer: z.enum(['HIT', 'NO_HIT', 'INSUFFICIENT_HISTORY', 'NOT_APPLICABLE', 'ERROR']),
});

const RuleIn = z.strictObject({
  id: z.string().min(1).max(64),
  reason: statement(64).meta({ description: 'What it is about, for reports' }),
  points: z.number(),
  group: statement(64).optional(),
  applies: Expression.optional(),
  needs: z.record(z.string().max(80), z.number()).optional(),
  when: Expression,
  limits: z.record(z.string().max(64), z.number()).optional(),
  message: statement(500).meta({ description: 'The public reason, with {features.x} and {limit}' }),
  cases: z.array(Case).max(50).optional(),
});

/** A rule set as operators write it. */
export const RuleContentIn = z
  .strictObject({
    rules: z.array(RuleIn).max(MOST_RULES),
    without: z
      .array(z.string().min(1).max(64))
      .max(MOST_RULES)
      .optional()
      .meta({ description: 'Ids of rules for all Sites that this Site does without' }),
    thresholds: z
      .strictObject({ review: z.int(), hold: z.int(), block: z.int() })
      .optional()
      .meta({ description: 'Least scores of the decisions; block 101: never' }),
    block_cap: z
      .strictObject({ share: z.number(), least: z.int() })
      .optional()
      .meta({ description: 'Share of the events of an hour that one rule may block' }),
  })
  .meta({ description: 'Rules, thresholds and cap; docs/rules.md' });

/** A rule set that passed {@link RuleContentIn}, under the name that results will give it. */
export function toRuleSet(
  content: z.infer<typeof RuleContentIn>,
  id: 'global' | 'site',
  version: number,
): RuleSet {
  // What is left out is left out, so that no key is there without a value.
  return {
    ...(JSON.parse(JSON.stringify(content)) as Omit<RuleSet, 'id' | 'version'>),
    id,
    version,
  };
}

/** Everything that is wrong with a rule set, one text each, with the place in the expression. */
export function problemsOfRules(set: RuleSet, forAll: RuleSet | undefined): string[] {
  const problems = compileRuleSet(set).problems.map(({ rule, where, message, start }) => {
    const index = set.rules.findIndex(({ id }) => id === rule);
    const place = index === -1 ? `content.${where}` : `content.rules[${index}].${where}`;
    const at = start === undefined ? '' : ` at character ${start + 1}`;
    return `${place}${at}: ${message}`;
  });
  const names = new Set(FEATURES.map(({ name }) => name));
  for (const [index, { cases = [] }] of set.rules.entries()) {
    for (const [number, { features = {} }] of cases.entries()) {
      const unknown = Object.keys(features).filter((name) => !names.has(name));
      if (unknown.length > 0) {
        problems.push(
          `content.rules[${index}].cases[${number}].features: names what is no feature`,
        );
      }
    }
  }
  if (forAll === undefined) {
    if (set.without !== undefined) problems.push('content.without: only for the set of a Site');
    return problems;
  }
  const known = new Set(forAll.rules.map(({ id }) => id));
  for (const [index, id] of (set.without ?? []).entries()) {
    if (!known.has(id)) problems.push(`content.without[${index}]: is no rule for all Sites`);
  }
  if (composeRuleSets(forAll, set).rules.length > 2 * MOST_RULES) {
    problems.push(`content.rules: together with those for all Sites more than ${2 * MOST_RULES}`);
  }
  return problems;
}

/** How many fixed cases a set has, and which of them fail. */
export function testRules(set: RuleSet): { cases: number; failed: FailedCase[] } {
  const cases = set.rules.reduce((sum, rule) => sum + (rule.cases?.length ?? 0), 0);
  return { cases, failed: runCases(set) };
}
