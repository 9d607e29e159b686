import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { BACKTEST, type BacktestInput } from '../../contract/rules.ts';
import { ALL_SITES, insertRuleSet, nextVersion } from '../../ledger/rule-sets.ts';
import { compileRuleSet } from '../../risk/index.ts';
import { DecimalId, instantField, instantMs, SiteCode, statement } from './fields.ts';
import { findSite } from './find-site.ts';
import { mutate } from './mutate.ts';
import { operatorProcedure } from './procedures.ts';
import { problemsOfRules, RuleContentIn, testRules, toRuleSet } from './rule-content.ts';
import { demandVersion, liveForAll, refuseUnsound, setOf, Version } from './rule-versions.ts';
import { lockScope, ScopeIn } from './scope.ts';

export const saveDraft = operatorProcedure
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

export const test = operatorProcedure
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

export const backtest = operatorProcedure
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
