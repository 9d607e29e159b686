import type { Db } from '../ledger/database.ts';
import {
  ALL_SITES,
  findRuleSet,
  insertRuleSet,
  SHIPPED,
  type StoredRuleSet,
} from '../ledger/rule-sets.ts';
import { DEFAULT_RULE_SET, DEFAULT_RULES, type RuleSet } from '../risk/index.ts';

/** A rule set without what its row says by itself. */
export type RuleContent = Omit<RuleSet, 'id' | 'version'>;

/** A version as risk/ takes it. The id tells scopes apart in what results name. */
export function ruleSetOf({ siteId, version, content }: StoredRuleSet): RuleSet {
  const id = siteId === ALL_SITES ? 'global' : siteId === SHIPPED ? DEFAULT_RULE_SET.id : 'site';
  return { ...(JSON.parse(content) as RuleContent), id, version };
}

/**
 * A version of a scope: 0 is what came with the service, which for a Site is nothing.
 *
 * @returns undefined where a Site has nothing of its own
 * @throws RangeError where there is no such version: it was named by a release or a result
 */
export async function readRuleSet(
  db: Db,
  siteId: bigint,
  version: number,
): Promise<RuleSet | undefined> {
  if (version === 0) return siteId === ALL_SITES ? DEFAULT_RULE_SET : undefined;
  const stored = await findRuleSet(db, siteId, version);
  if (stored === undefined) throw new RangeError('There is no such version of the rules.');
  return ruleSetOf(stored);
}

/** Keeps the rules that came with this version of the service, so that a later one can still judge as they did. */
export async function keepShippedRules(db: Db, now: number): Promise<void> {
  const { id: _id, version, ...content } = DEFAULT_RULE_SET;
  await insertRuleSet(db, {
    siteId: SHIPPED,
    version,
    content: JSON.stringify(content),
    contentHash: DEFAULT_RULES.contentHash,
    comment: 'came with the service',
    by: 'service',
    at: now,
  });
}
