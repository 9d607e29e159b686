import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { Db } from '../../ledger/database.ts';
import { raiseOperatorEvent } from '../../ledger/operator-events.ts';
import {
  everReleased,
  releaseRules,
  versionBeforeLive,
  type NewRuleRelease,
} from '../../ledger/rule-sets.ts';
import type { Operator } from '../procedure.ts';
import { statement } from './fields.ts';
import { mutate } from './mutate.ts';
import { administratorProcedure, operatorProcedure } from './procedures.ts';
import { refusal } from './refusal.ts';
import {
  demandVersion,
  inForceOf,
  InForceOut,
  refuseUnsound,
  toInForce,
  Version,
  type InForce,
} from './rule-versions.ts';
import { lockScope, ScopeIn, type Scope } from './scope.ts';

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

export const shadow = operatorProcedure
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

export const stopShadow = operatorProcedure
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

export const publish = administratorProcedure
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

export const rollback = operatorProcedure
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
