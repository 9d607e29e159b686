import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import type { Db } from '../../ledger/database.ts';
import {
  ALL_SITES,
  findRuleSet,
  rulesInForce,
  type RuleInForce,
  type RuleRole,
  type StoredRuleSet,
} from '../../ledger/rule-sets.ts';
import { DEFAULT_RULE_SET, type RuleSet } from '../../risk/index.ts';
import { SiteCode } from './fields.ts';
import { refusal } from './refusal.ts';
import { problemsOfRules, testRules } from './rule-content.ts';
import type { Scope } from './scope.ts';

/** The number of a version of the rules, within its Site or for all Sites. */
export const Version = z
  .int()
  .min(1)
  .max(2_000_000_000)
  .meta({ description: 'As rules.list shows it' });

/** Which versions judge: live, and in the shadow. */
export const InForceOut = z.strictObject({
  site_code: SiteCode.nullable(),
  live_version: z.int().meta({ description: '0: what came with the service; of a Site nothing' }),
  shadow_version: z.int().nullable(),
});

/** What plays a part now, by part. */
export type InForce = Readonly<Partial<Record<RuleRole, RuleInForce>>>;

/** What is in force for a Site, or for all Sites. */
export async function inForceOf(db: Db, siteId: bigint): Promise<InForce> {
  const found = await rulesInForce(db, siteId);
  return Object.fromEntries(found.map((each) => [each.role, each]));
}

/** The same as procedures answer it; `siteCode` null for all Sites. */
export const toInForce = (
  siteCode: string | null,
  { LIVE, SHADOW }: InForce,
): z.infer<typeof InForceOut> => ({
  site_code: siteCode,
  live_version: LIVE?.version ?? 0,
  shadow_version: SHADOW?.version ?? null,
});

/** @throws TRPCError NOT_FOUND */
export async function demandVersion(
  db: Db,
  { siteId }: Pick<Scope, 'siteId'>,
  version: number,
): Promise<StoredRuleSet> {
  return (await findRuleSet(db, siteId, version)) ?? refuseMissingVersion(version);
}

function refuseMissingVersion(version: number): never {
  throw new TRPCError({
    code: 'NOT_FOUND',
    message: `There is no version ${version} of these rules; rules.list shows all.`,
  });
}

/** The rules of a version, without its name. */
export const contentOf = ({ content }: StoredRuleSet): Omit<RuleSet, 'id' | 'version'> =>
  JSON.parse(content) as Omit<RuleSet, 'id' | 'version'>;

/** A version as risk/ compiles it. */
export const setOf = (stored: StoredRuleSet): RuleSet => ({
  ...contentOf(stored),
  id: stored.siteId === ALL_SITES ? 'global' : 'site',
  version: stored.version,
});

/** The rules for all Sites that are live now: what a Site's set builds upon. */
export async function liveForAll(db: Db): Promise<RuleSet> {
  const { LIVE } = await inForceOf(db, ALL_SITES);
  if (LIVE === undefined) return DEFAULT_RULE_SET;
  return setOf(await demandVersion(db, { siteId: ALL_SITES }, LIVE.version));
}

/** What is wrong with a version now; features may have changed since it was saved. @throws TRPCError */
export async function refuseUnsound(db: Db, stored: StoredRuleSet): Promise<void> {
  const set = setOf(stored);
  const forAll = stored.siteId === ALL_SITES ? undefined : await liveForAll(db);
  const problems = problemsOfRules(set, forAll);
  if (problems.length > 0) {
    throw refusal(`Version ${stored.version} cannot be used: ${problems.join('; ')}.`);
  }
  const { failed } = testRules(set);
  if (failed.length > 0) {
    throw refusal(
      `${failed.length} fixed cases of version ${stored.version} fail; rules.test shows them.`,
    );
  }
}
