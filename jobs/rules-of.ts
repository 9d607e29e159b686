import { findRuleSet, ALL_SITES, SHIPPED } from '../ledger/rule-sets.ts';
import type { Transaction } from '../ledger/transactions.ts';
import {
  composeRuleSets,
  DEFAULT_RULE_SET,
  DEFAULT_RULES,
  type CompiledRuleSet,
} from '../risk/index.ts';
import { ruleSetOf } from './stored-rules.ts';

/** The rules that judged an event of a Site, by its evaluator_version; undefined where they are not kept. */
export type RulesOf = (
  siteId: bigint,
  evaluatorVersion: string,
) => Promise<CompiledRuleSet | undefined>;

const NAMED = /\+(rules\.(default|global)-(\d+)\.[0-9a-f]{8}(?:\+site\.(\d+)\.[0-9a-f]{8})?)/;

/** Compiled sets that are kept for the next question, at most. */
const KEPT = 20;

/** Finds the rules that results name, whatever is live now: versions never change and are never removed. */
export function createRulesOf(transaction: Transaction): RulesOf {
  const kept = new Map<string, CompiledRuleSet>();
  return async (siteId, evaluatorVersion) => {
    const [, name, origin, version, own] = NAMED.exec(evaluatorVersion) ?? [];
    if (name === undefined) return undefined;
    if (name === DEFAULT_RULES.name) return DEFAULT_RULES;
    const key = `${own === undefined ? '' : siteId}/${name}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const rules = await transaction(async (db) => {
      const isOurs = origin === 'default' && Number(version) === DEFAULT_RULE_SET.version;
      const scope = origin === 'default' ? SHIPPED : ALL_SITES;
      const all = isOurs ? undefined : await findRuleSet(db, scope, Number(version));
      const site = own === undefined ? undefined : await findRuleSet(db, siteId, Number(own));
      const missing = (!isOurs && all === undefined) || (own !== undefined && site === undefined);
      if (missing) return undefined;
      return composeRuleSets(
        all === undefined ? DEFAULT_RULE_SET : ruleSetOf(all),
        site === undefined ? undefined : ruleSetOf(site),
      );
    });
    // The hashes in the name tell whether these are the rules that are meant.
    if (rules?.name !== name) return undefined;
    const [oldest] = kept.keys();
    if (kept.size >= KEPT && oldest !== undefined) kept.delete(oldest);
    kept.set(key, rules);
    return rules;
  };
}
