import type { TransactionEvent } from '../../contract/transaction.ts';
import { ENTITY_KINDS, type EntityRef } from '../entities.ts';
import { judge } from '../evaluate.ts';
import { EventFacts } from '../facts.ts';
import { computeFeatures } from '../features/compute.ts';
import { FEATURES, featurePosition } from '../features/definitions.ts';
import type { Features } from '../features/vector.ts';
import { compileRuleSet } from './compile.ts';
import type { RuleAnswer, RuleCase, RuleSet } from './rule.ts';

/** A case whose rule answered something else than it says. */
export interface FailedCase {
  readonly rule: string;
  /** Position in the rule's cases. */
  readonly index: number;
  readonly expected: RuleAnswer;
  readonly answered: RuleAnswer;
}

/**
 * Runs every case of a rule set, each against its rule alone.
 *
 * @returns the cases that failed; empty where all hold
 * @throws RangeError where a case names a feature that does not exist
 */
export function runCases(set: RuleSet): FailedCase[] {
  const failed: FailedCase[] = [];
  for (const rule of set.rules) {
    const compiled = compileRuleSet({ ...set, rules: [rule] });
    for (const [index, example] of (rule.cases ?? []).entries()) {
      const { answers } = judge({ facts: factsOfCase(example) }, featuresOfCase(example), compiled);
      const answered = answers[0] ?? 'ERROR';
      if (answered !== example.answer) {
        failed.push({ rule: rule.id, index, expected: example.answer, answered });
      }
    }
  }
  return failed;
}

/** The facts of a case: an approved e-commerce payment of 10,000 minor units, with the case's differences. */
export function factsOfCase({ event }: RuleCase): EventFacts {
  return Object.assign(new EventFacts(ORDINARY, 0), event);
}

/** The features of a case, as {@link RuleCase} describes them. */
export function featuresOfCase({ features: given = {} }: RuleCase): Features {
  const positions = Object.entries(given).map(([name, value]) => {
    const position = featurePosition(name);
    if (position === undefined) throw new RangeError(`A case names ${name}, which is no feature.`);
    return [position, value] as const;
  });
  const named = new Set(positions.map(([position]) => FEATURES[position]?.entity));
  const entities: EntityRef[] = ENTITY_KINDS.filter((kind) => named.has(kind)).map((kind) => ({
    kind,
    key: '0'.repeat(32),
  }));
  const features = computeFeatures(
    {
      ingestionId: '',
      at: 0,
      entities,
      keys: {},
      facts: new EventFacts(ORDINARY, 0),
      originalKnown: null,
      profileVersion: undefined,
    },
    () => undefined,
    () => undefined,
  );
  for (const [position, value] of positions) features.values[position] = value;
  return features;
}

const ORDINARY: TransactionEvent = {
  schema_version: '1.0',
  source_event_id: 'case',
  occurred_at: '1970-01-01T00:00:00Z',
  sent_at: '1970-01-01T00:00:00Z',
  source_system: 'case',
  event_type: 'PAYMENT_AUTH',
  transaction: {
    source_event_id: 'case',
    type: 'AUTH',
    status: 'APPROVED',
    occurred_at: '1970-01-01T00:00:00Z',
    amount_minor: 10_000,
    currency: 'KRW',
    channel: 'ECOMMERCE',
    installment_months: 0,
  },
};
