import type { EntityManager } from '@mikro-orm/postgresql';
import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { ingestionIdOf } from '../../contract/primitives.ts';
import { BACKTEST, type BacktestInput } from '../../contract/rules.ts';
import type { Db } from '../../ledger/database.ts';
import { listWorkers } from '../../ledger/evaluation-workers.ts';
import { raiseOperatorEvent } from '../../ledger/operator-events.ts';
import {
  ALL_SITES,
  everReleased,
  findRuleSet,
  insertRuleSet,
  listReleases,
  listRuleSets,
  nextVersion,
  releaseRules,
  rulesInForce,
  versionBeforeLive,
  type NewRuleRelease,
  type RuleInForce,
  type RuleRole,
  type StoredRuleSet,
} from '../../ledger/rule-sets.ts';
import { readShadowExamples, readShadowSums } from '../../ledger/rule-shadows.ts';
import { compileRuleSet, DEFAULT_RULE_SET, type RuleSet } from '../../risk/index.ts';
import { router, type Operator } from '../procedure.ts';
import {
  cursorOf,
  DecimalId,
  instantField,
  instantMs,
  Limit,
  pageOf,
  SiteCode,
  statement,
  toIso,
  toPage,
  UtcInstant,
} from './fields.ts';
import { findSite } from './find-site.ts';
import { mutate } from './mutate.ts';
import { administratorProcedure, operatorProcedure, viewerProcedure } from './procedures.ts';
import { problemsOfRules, RuleContentIn, testRules, toRuleSet } from './rule-content.ts';
import { findScope, lockScope, ScopeIn, type Scope } from './scope.ts';

const Version = z.int().min(1).max(2_000_000_000).meta({ description: 'As rules.list shows it' });

/** A release counts as followed once every worker that is alive goes by it. */
const FollowedOut = z.strictObject({
  workers: z.int().meta({ description: 'Evaluation workers that are alive' }),
  following: z.int().meta({ description: 'Those of them that already go by it' }),
});

const State = z.enum(['DRAFT', 'SHADOW', 'LIVE', 'LIVE_AND_SHADOW', 'RETIRED']);

const RuleSetOut = z.strictObject({
  version: z.int(),
  state: State,
  rules: z.int(),
  content_hash: z.string(),
  comment: z.string(),
  created_by: z.string(),
  created_at: UtcInstant,
  /** Of the release that put it in force; null where it is not. */
  followed: FollowedOut.nullable(),
});

const InForceOut = z.strictObject({
  site_code: SiteCode.nullable(),
  live_version: z.int().meta({ description: '0: what came with the service; of a Site nothing' }),
  shadow_version: z.int().nullable(),
});

type InForce = Readonly<Partial<Record<RuleRole, RuleInForce>>>;

async function inForceOf(db: Db, siteId: bigint): Promise<InForce> {
  const found = await rulesInForce(db, siteId);
  return Object.fromEntries(found.map((each) => [each.role, each]));
}

const toInForce = (
  siteCode: string | null,
  { LIVE, SHADOW }: InForce,
): z.infer<typeof InForceOut> => ({
  site_code: siteCode,
  live_version: LIVE?.version ?? 0,
  shadow_version: SHADOW?.version ?? null,
});

function stateOf(
  version: number,
  { LIVE, SHADOW }: InForce,
  everLive: ReadonlySet<number>,
): z.infer<typeof State> {
  if (version === LIVE?.version) return version === SHADOW?.version ? 'LIVE_AND_SHADOW' : 'LIVE';
  if (version === SHADOW?.version) return 'SHADOW';
  return everLive.has(version) ? 'RETIRED' : 'DRAFT';
}

const refusal = (message: string): TRPCError =>
  new TRPCError({ code: 'PRECONDITION_FAILED', message });

/** @throws TRPCError NOT_FOUND */
async function demandVersion(
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

const contentOf = ({ content }: StoredRuleSet): Omit<RuleSet, 'id' | 'version'> =>
  JSON.parse(content) as Omit<RuleSet, 'id' | 'version'>;

const setOf = (stored: StoredRuleSet): RuleSet => ({
  ...contentOf(stored),
  id: stored.siteId === ALL_SITES ? 'global' : 'site',
  version: stored.version,
});

/** The rules for all Sites that are live now: what a Site's set builds upon. */
async function liveForAll(db: Db): Promise<RuleSet> {
  const { LIVE } = await inForceOf(db, ALL_SITES);
  if (LIVE === undefined) return DEFAULT_RULE_SET;
  return setOf(await demandVersion(db, { siteId: ALL_SITES }, LIVE.version));
}

/** What is wrong with a version now; features may have changed since it was saved. @throws TRPCError */
async function refuseUnsound(db: Db, stored: StoredRuleSet): Promise<void> {
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

const saveDraft = operatorProcedure
  .input(
    z
      .strictObject({
        site_code: ScopeIn,
        content: RuleContentIn,
        comment: statement(500).meta({ description: 'What changes and why' }),
      })
      .meta({
        description:
          'Saves a new version of the rules of a Site, or of all Sites; it judges nothing until it is published.',
      }),
  )
  .output(z.strictObject({ version: z.int(), content_hash: z.string() }))
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { db, siteCode, siteId } = await lockScope(em, input.site_code, ctx.operator);
      const version = await nextVersion(db, siteId);
      const set = toRuleSet(input.content, siteId === ALL_SITES ? 'global' : 'site', version);
      const problems = problemsOfRules(
        set,
        siteId === ALL_SITES ? undefined : await liveForAll(db),
      );
      if (problems.length > 0) {
        throw new TRPCError({
          code: 'BAD_REQUEST',
          message: `The rules are wrong: ${problems.join('; ')}.`,
        });
      }
      const { id: _id, version: _version, ...content } = set;
      const { contentHash } = compileRuleSet(set);
      const isNew = await insertRuleSet(db, {
        siteId,
        version,
        content: JSON.stringify(content),
        contentHash,
        comment: input.comment,
        by: ctx.operator.name,
        at: now,
      });
      if (!isNew) throw new Error('a version was saved twice');
      const result = { version, content_hash: contentHash };
      return {
        result,
        siteCode,
        after: { ...result, rules: set.rules.length, comment: input.comment },
      };
    }),
  );

const test = operatorProcedure
  .input(
    z
      .strictObject({ site_code: ScopeIn, version: Version })
      .meta({ description: 'Runs the fixed cases that are stored with a version.' }),
  )
  .output(
    z.strictObject({
      cases: z.int(),
      failed: z.array(
        z.strictObject({
          rule: z.string(),
          case: z.int().meta({ description: 'Position in the cases of the rule' }),
          expected: z.string(),
          answered: z.string(),
        }),
      ),
      without_case: z.array(z.string()).meta({ description: 'Rules that no case tests' }),
    }),
  )
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em) => {
      const { db, siteCode, siteId } = await lockScope(em, input.site_code, ctx.operator);
      const set = setOf(await demandVersion(db, { siteId }, input.version));
      const { cases, failed } = testRules(set);
      const result = {
        cases,
        failed: failed.map(({ answered, expected, index, rule }) => ({
          rule,
          case: index,
          expected,
          answered,
        })),
        without_case: set.rules
          .filter((rule) => (rule.cases?.length ?? 0) === 0)
          .map(({ id }) => id),
      };
      return {
        result,
        siteCode,
        after: { version: input.version, cases, failed: failed.length },
      };
    }),
  );

const backtest = operatorProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode,
        version: Version,
        all_sites: z
          .boolean()
          .default(false)
          .meta({ description: 'The version is one for all Sites, tried on this one' }),
        from: instantField('Accepted at or after'),
        to: instantField('Accepted before'),
      })
      .meta({
        description:
          'Judges the stored events of a period again by a version, as a task: hits, changed decisions, labels, money, examples.',
      }),
  )
  .output(z.strictObject({ task_id: DecimalId }))
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { site_code: siteCode, version, all_sites: allSites } = input;
      const site = await findSite(em, siteCode);
      const db = em.getKysely();
      await refuseUnsound(
        db,
        await demandVersion(db, { siteId: allSites ? ALL_SITES : site.id }, version),
      );
      const [from, to] = [instantMs(input.from), Math.min(now, instantMs(input.to))];
      if (from >= to) {
        throw new TRPCError({
          code: 'BAD_REQUEST',
          message: 'The input is wrong: to: must be later than from.',
        });
      }
      const task: BacktestInput = { all_sites: allSites, version, from, to };
      const taskId = await ctx.services.startTask(db, {
        kind: BACKTEST,
        siteId: site.id,
        input: task,
        by: ctx.operator.name,
        at: now,
      });
      const result = { task_id: String(taskId) };
      return { result, siteCode, after: { ...result, ...task } };
    }),
  );

type Release = Pick<NewRuleRelease, 'role' | 'version' | 'kind' | 'reason'>;

/** Changes which version plays a part, under the scope's lock, and answers what is in force then. */
async function release(
  em: EntityManager,
  input: { readonly site_code?: string | undefined },
  { operator, now }: { readonly operator: Operator; readonly now: number },
  change: (scope: Scope & { readonly db: Db }, before: InForce) => Promise<Release>,
) {
  const scope = await lockScope(em, input.site_code, operator);
  const { db, siteCode, siteId } = scope;
  const before = await inForceOf(db, siteId);
  const changed = await change(scope, before);
  await releaseRules(db, { siteId, ...changed, by: operator.name, at: now });
  if (changed.kind === 'PUBLISH' || changed.kind === 'ROLLBACK') {
    await raiseOperatorEvent(db, {
      siteId,
      kind: changed.kind === 'PUBLISH' ? 'rules_published' : 'rules_rolled_back',
      subject: `rules version ${changed.version}`,
      detail: { before: before.LIVE?.version ?? 0 },
      at: now,
    });
  }
  const after = toInForce(siteCode, await inForceOf(db, siteId));
  const reason = changed.reason === null ? {} : { reason: changed.reason };
  return {
    result: after,
    siteCode,
    before: toInForce(siteCode, before),
    after: { ...after, ...reason },
  };
}

const shadow = operatorProcedure
  .input(
    z.strictObject({ site_code: ScopeIn, version: Version }).meta({
      description:
        'Lets a version judge live traffic beside the live one; rules.get shows what it would have decided.',
    }),
  )
  .output(InForceOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, (em, now) =>
      release(em, input, { operator: ctx.operator, now }, async ({ db, siteId }, before) => {
        const stored = await demandVersion(db, { siteId }, input.version);
        if (before.SHADOW?.version === input.version) {
          throw refusal(`Version ${input.version} is in the shadow already.`);
        }
        await refuseUnsound(db, stored);
        return { role: 'SHADOW', version: input.version, kind: 'SHADOW', reason: null };
      }),
    ),
  );

const stopShadow = operatorProcedure
  .input(
    z
      .strictObject({ site_code: ScopeIn })
      .meta({ description: 'Ends the trial of the version in the shadow; its figures stay.' }),
  )
  .output(InForceOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, (em, now) =>
      release(em, input, { operator: ctx.operator, now }, (_scope, before) => {
        if (before.SHADOW === undefined) throw refusal('No version is in the shadow.');
        return Promise.resolve({ role: 'SHADOW', version: 0, kind: 'STOP_SHADOW', reason: null });
      }),
    ),
  );

const publish = administratorProcedure
  .input(
    z
      .strictObject({
        site_code: ScopeIn,
        version: Version,
        urgent_reason: statement(500)
          .optional()
          .meta({ description: 'Why it is published without having been in the shadow' }),
      })
      .meta({
        description:
          'Makes a version judge live traffic; somebody else than its author does it, after a trial in the shadow.',
      }),
  )
  .output(InForceOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, (em, now) =>
      release(em, input, { operator: ctx.operator, now }, async ({ db, siteId }, before) => {
        const { urgent_reason: urgent, version } = input;
        const stored = await demandVersion(db, { siteId }, version);
        if (before.LIVE?.version === version) throw refusal(`Version ${version} is live already.`);
        if (stored.createdBy === ctx.operator.name) {
          throw refusal(
            `You saved version ${version}; another administrator than its author publishes it.`,
          );
        }
        await refuseUnsound(db, stored);
        const tried = (await everReleased(db, siteId, 'SHADOW')).has(version);
        if (!tried && urgent === undefined) {
          throw refusal(
            `Version ${version} has never been in the shadow; rules.shadow tries it, or give urgent_reason.`,
          );
        }
        return { role: 'LIVE', version, kind: 'PUBLISH', reason: tried ? null : (urgent ?? null) };
      }),
    ),
  );

const rollback = operatorProcedure
  .input(
    z
      .strictObject({ site_code: ScopeIn, reason: statement(500) })
      .meta({ description: 'Makes the version live again that was live before.' }),
  )
  .output(InForceOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, (em, now) =>
      release(em, input, { operator: ctx.operator, now }, async ({ db, siteId }) => {
        const version = await versionBeforeLive(db, siteId);
        if (version === undefined) throw refusal('No version was ever published.');
        return { role: 'LIVE', version, kind: 'ROLLBACK', reason: input.reason };
      }),
    ),
  );

/** How far the workers have followed the releases that are in force. */
async function followedOf(
  db: Db,
  now: number,
): Promise<(release: RuleInForce) => z.infer<typeof FollowedOut>> {
  const workers = await listWorkers(db, now);
  return ({ releaseId }) => ({
    workers: workers.length,
    following: workers.filter((worker) => worker.releaseId >= releaseId).length,
  });
}

const list = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: ScopeIn,
        cursor: cursorOf(/^[1-9]\d{0,8}$/).optional(),
        limit: Limit,
      })
      .meta({
        description:
          'Lists the versions of the rules of a Site, or of all Sites, newest first, and how many workers follow them.',
      }),
  )
  .output(pageOf(RuleSetOut))
  .query(async ({ ctx, input }) => {
    const em = ctx.services.orm.em.fork();
    const { siteId } = await findScope(em, input.site_code);
    const db = em.getKysely();
    const before = input.cursor === undefined ? undefined : Number(input.cursor);
    const rows = await listRuleSets(db, siteId, { before, limit: input.limit + 1 });
    const inForce = await inForceOf(db, siteId);
    const everLive = await everReleased(db, siteId, 'LIVE');
    const followed = await followedOf(db, ctx.services.clock.now());
    return toPage(
      rows,
      input.limit,
      (row) => {
        const release = [inForce.LIVE, inForce.SHADOW].find(
          (each) => each?.version === row.version,
        );
        return {
          version: row.version,
          state: stateOf(row.version, inForce, everLive),
          rules: contentOf(row).rules.length,
          content_hash: row.contentHash,
          comment: row.comment,
          created_by: row.createdBy,
          created_at: toIso(row.createdAt),
          followed: release === undefined ? null : followed(release),
        };
      },
      ({ version }) => String(version),
    );
  });

/** Differences of a shadow that are shown. */
const EXAMPLES = 20;

const get = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: ScopeIn,
        version: z
          .int()
          .min(0)
          .max(2_000_000_000)
          .optional()
          .meta({ description: 'Left out: the live one; 0: what came with the service' }),
      })
      .meta({
        description:
          'Shows one version: its rules, its releases, which workers go by it, and what it said in the shadow.',
      }),
  )
  .output(
    InForceOut.extend({
      version: z.int(),
      content: z.json(),
      content_hash: z.string().nullable(),
      comment: z.string().nullable(),
      created_by: z.string().nullable(),
      problems: z.array(z.string()).meta({ description: 'Why it could not be published now' }),
      live: FollowedOut.nullable(),
      shadow: FollowedOut.nullable(),
      shadow_decisions: z
        .array(z.strictObject({ answered: z.string(), proposed: z.string(), events: z.int() }))
        .meta({ description: 'Events by what was answered and what it would have answered' }),
      shadow_examples: z.array(
        z.strictObject({
          ingestion_id: z.string(),
          answered: z.string(),
          proposed: z.string(),
          answered_score: z.int(),
          proposed_score: z.int(),
        }),
      ),
      releases: z.array(
        z.strictObject({
          kind: z.enum(['PUBLISH', 'ROLLBACK', 'SHADOW', 'STOP_SHADOW']),
          version: z.int(),
          reason: z.string().nullable(),
          released_by: z.string(),
          released_at: UtcInstant,
        }),
      ),
      workers: z.array(
        z.strictObject({
          worker_id: z.string(),
          started_at: UtcInstant,
          seen_at: UtcInstant,
          up_to_date: z
            .boolean()
            .meta({ description: 'Goes by every release of these rules up to now' }),
        }),
      ),
    }),
  )
  .query(async ({ ctx, input }) => {
    const em = ctx.services.orm.em.fork();
    const { siteCode, siteId } = await findScope(em, input.site_code);
    const db = em.getKysely();
    const now = ctx.services.clock.now();
    const inForce = await inForceOf(db, siteId);
    const version = input.version ?? inForce.LIVE?.version ?? 0;
    const stored = version === 0 ? undefined : await demandVersion(db, { siteId }, version);
    const forAll = siteId === ALL_SITES ? undefined : await liveForAll(db);
    const set = stored === undefined ? shippedFor(siteId) : setOf(stored);
    const { id: _id, version: _version, ...content } = set;
    const releases = await listReleases(db, siteId);
    const followed = await followedOf(db, now);
    const examples = await readShadowExamples(db, siteId, version, EXAMPLES);
    return {
      ...toInForce(siteCode, inForce),
      version,
      content: JSON.parse(JSON.stringify(content)) as z.infer<ReturnType<typeof z.json>>,
      content_hash: stored?.contentHash ?? null,
      comment: stored?.comment ?? null,
      created_by: stored?.createdBy ?? null,
      problems: stored === undefined ? [] : problemsOfRules(set, forAll),
      live: inForce.LIVE?.version === version ? followed(inForce.LIVE) : null,
      shadow: inForce.SHADOW?.version === version ? followed(inForce.SHADOW) : null,
      shadow_decisions: await readShadowSums(db, siteId, version),
      shadow_examples: examples.map((example) => ({
        ingestion_id: ingestionIdOf(example.ingestionId),
        answered: example.answered,
        proposed: example.proposed,
        answered_score: example.answeredScore,
        proposed_score: example.proposedScore,
      })),
      releases: releases.map((each) => ({
        kind: each.kind,
        version: each.version,
        reason: each.reason,
        released_by: each.by,
        released_at: toIso(each.at),
      })),
      workers: (await listWorkers(db, now)).map((worker) => ({
        worker_id: worker.id,
        started_at: toIso(worker.startedAt),
        seen_at: toIso(worker.seenAt),
        up_to_date: worker.releaseId >= (releases[0]?.id ?? 0n),
      })),
    };
  });

const shippedFor = (siteId: bigint): RuleSet =>
  siteId === ALL_SITES ? DEFAULT_RULE_SET : { id: 'site', version: 0, rules: [] };

/** The rules of a Site and of all Sites: from a draft to live traffic, and back. */
export const rules = router({
  list,
  get,
  save_draft: saveDraft,
  test,
  backtest,
  shadow,
  stop_shadow: stopShadow,
  publish,
  rollback,
});
