import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import {
  countEntries,
  LIST_LIMIT,
  listEntries,
  putEntries,
  removeEntries,
} from '../../ledger/lists.ts';
import { entityKey, LISTS, SINGLE_KINDS } from '../../risk/index.ts';
import { router } from '../procedure.ts';
import {
  IdCursor,
  instantField,
  instantMs,
  Limit,
  pageOf,
  statement,
  toIso,
  toIsoOrNull,
  toPage,
  UtcInstant,
} from './fields.ts';
import { mutate } from './mutate.ts';
import { operatorProcedure, viewerProcedure } from './procedures.ts';
import { findScope, lockScope, ScopeIn } from './scope.ts';

/** Entities of one call at most. */
const MOST_VALUES = 1_000;

const ListIn = z.enum(LISTS).meta({
  description:
    'allow: never more than let through; block: always recommended to block; watch: at least reviewed',
});
const EntityIn = z.enum(SINGLE_KINDS).meta({ description: 'What the values name' });

const Value = z.string().min(1).max(1_000);
const ValuesIn = z.array(Value).min(1).max(MOST_VALUES).meta({
  description:
    'Exactly as events say them: card tokens, customer ids, …; only their digests are kept',
});

const EntryOut = z.strictObject({
  list: z.enum(LISTS),
  entity: z.enum(SINGLE_KINDS),
  digest: z.string().meta({ description: 'First digits of the key that stands for the value' }),
  reason: z.string(),
  put_by: z.string(),
  put_at: UtcInstant,
  expires_at: UtcInstant.nullable(),
});

const put = operatorProcedure
  .input(
    z
      .strictObject({
        site_code: ScopeIn,
        list: ListIn,
        entity: EntityIn,
        values: ValuesIn,
        reason: statement(500),
        expires_at: instantField('Until when it counts; left out: until it is removed').optional(),
      })
      .meta({
        description:
          'Puts cards, customers, devices, networks or merchants on a list; what is there gets the new reason and end.',
      }),
  )
  .output(z.strictObject({ put: z.int(), list_version: z.string() }))
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { db, siteCode, siteId } = await lockScope(em, input.site_code, ctx.operator);
      const expiresAt = input.expires_at === undefined ? null : instantMs(input.expires_at);
      if (expiresAt !== null && expiresAt <= now) {
        throw new TRPCError({
          code: 'BAD_REQUEST',
          message: 'The input is wrong: expires_at: must be in the future.',
        });
      }
      const keys = keysOf(input);
      if ((await countEntries(db, siteId, now)) + keys.length > LIST_LIMIT) {
        throw new TRPCError({
          code: 'PRECONDITION_FAILED',
          message: `The lists would hold more than ${LIST_LIMIT} entries; remove some, or let them expire.`,
        });
      }
      const { list, entity, reason } = input;
      const version = await putEntries(db, {
        siteId,
        list,
        kind: entity,
        keys,
        reason,
        expiresAt,
        by: ctx.operator.name,
        at: now,
      });
      return {
        result: { put: keys.length, list_version: String(version) },
        siteCode,
        after: {
          list,
          entity,
          digests: keys.map(digestOf),
          reason,
          expires_at: toIsoOrNull(expiresAt),
        },
      };
    }),
  );

const remove = operatorProcedure
  .input(
    z
      .strictObject({
        site_code: ScopeIn,
        list: ListIn,
        entity: EntityIn,
        values: ValuesIn,
        reason: statement(500),
      })
      .meta({ description: 'Takes entities off a list.' }),
  )
  .output(z.strictObject({ removed: z.int() }))
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { db, siteCode, siteId } = await lockScope(em, input.site_code, ctx.operator);
      const { list, entity, reason } = input;
      const keys = keysOf(input);
      const removed = await removeEntries(db, { siteId, list, kind: entity, keys }, now);
      if (removed === 0) {
        throw new TRPCError({
          code: 'NOT_FOUND',
          message: `None of them is on the ${list} list; lists.list shows what is.`,
        });
      }
      const facts = { list, entity, digests: keys.map(digestOf) };
      return { result: { removed }, siteCode, before: facts, after: { removed, reason } };
    }),
  );

const list = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: ScopeIn,
        list: ListIn.optional(),
        entity: EntityIn.optional(),
        value: Value.optional().meta({ description: 'Only this one; needs entity' }),
        cursor: IdCursor.optional(),
        limit: Limit,
      })
      .meta({ description: 'Lists what counts now, latest change first, without the values.' }),
  )
  .output(pageOf(EntryOut))
  .query(async ({ ctx, input }) => {
    if (input.value !== undefined && input.entity === undefined) {
      throw new TRPCError({
        code: 'BAD_REQUEST',
        message: 'The input is wrong: entity: is required beside value.',
      });
    }
    const em = ctx.services.orm.em.fork();
    const { siteId } = await findScope(em, input.site_code);
    const rows = await listEntries(
      em.getKysely(),
      {
        siteId,
        list: input.list,
        kind: input.entity,
        key:
          input.value === undefined || input.entity === undefined
            ? undefined
            : entityKey(input.entity, input.value),
      },
      ctx.services.clock.now(),
      {
        before: input.cursor === undefined ? undefined : BigInt(input.cursor),
        limit: input.limit + 1,
      },
    );
    return toPage(
      rows,
      input.limit,
      (row) => ({
        list: row.list,
        entity: row.kind,
        digest: digestOf(row.key),
        reason: row.reason,
        put_by: row.putBy,
        put_at: toIso(row.putAt),
        expires_at: toIsoOrNull(row.expiresAt),
      }),
      ({ version }) => String(version),
    );
  });

const keysOf = ({
  entity,
  values,
}: {
  readonly entity: z.infer<typeof EntityIn>;
  readonly values: readonly string[];
}): string[] => [...new Set(values)].map((value) => entityKey(entity, value));

const digestOf = (key: string): string => key.slice(0, 12);

/** Lists of entities that operators let through, block or watch. */
export const lists = router({ put, remove, list });
