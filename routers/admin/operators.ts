import { LockMode, UniqueConstraintViolationException } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { OperatorAccount } from '../../entities/operator.ts';
import { generateOperatorToken, maskedToken } from '../../ledger/operator-token.ts';
import { FIRST_ADMINISTRATOR, router } from '../procedure.ts';
import { DecimalId, IdCursor, Limit, UtcInstant, instantField, instantMs } from './fields.ts';
import { pageOf, statement, toIso, toIsoOrNull, toPage } from './fields.ts';
import { mutate, type AuditFacts } from './mutate.ts';
import { administratorProcedure, viewerProcedure } from './procedures.ts';

const DAY_MS = 86_400_000;

/** A token's life where nobody says otherwise, and at most, days: a forgotten one ends by itself. */
const TOKEN_DAYS = 90;
const TOKEN_DAYS_AT_MOST = 366;

const RoleName = z.enum(['viewer', 'operator', 'administrator']);

/** Names that the audit uses for somebody else. */
const TAKEN_NAMES = new Set([FIRST_ADMINISTRATOR, 'unknown']);

const OperatorName = statement(80)
  .refine((name) => name === name.trim() && !TAKEN_NAMES.has(name.toLowerCase()), {
    error: 'must not be a reserved name, nor begin or end with a blank',
  })
  .meta({ description: 'Who it is: a person or a tool; stands in the audit, never used again' });

const ExpiresAt = instantField(
  `When the token ends, at most ${TOKEN_DAYS_AT_MOST} days ahead; after ${TOKEN_DAYS} days when left out`,
).optional();

const OperatorOut = z.strictObject({
  operator_id: DecimalId,
  name: z.string(),
  role: RoleName,
  masked_token: z.string(),
  state: z.enum(['ACTIVE', 'EXPIRED', 'REVOKED']),
  created_by: z.string(),
  created_at: UtcInstant,
  expires_at: UtcInstant,
  revoked_at: UtcInstant.nullable(),
});

/** The only answer that ever holds a token; it cannot be read again. */
const IssuedToken = z.strictObject({
  operator_id: DecimalId,
  name: z.string(),
  role: RoleName,
  token: z.string(),
  expires_at: UtcInstant,
});

function stateOf(row: OperatorAccount, now: number): z.infer<typeof OperatorOut>['state'] {
  if (row.revoked_at !== null && row.revoked_at !== undefined) return 'REVOKED';
  return row.expires_at.getTime() <= now ? 'EXPIRED' : 'ACTIVE';
}

const toOperator = (row: OperatorAccount, now: number): z.infer<typeof OperatorOut> => ({
  operator_id: String(row.id),
  name: row.name,
  role: row.role,
  masked_token: maskedToken(row.token_id),
  state: stateOf(row, now),
  created_by: row.created_by,
  created_at: toIso(row.created_at),
  expires_at: toIso(row.expires_at),
  revoked_at: toIsoOrNull(row.revoked_at),
});

const factsOf = (row: OperatorAccount): AuditFacts => ({
  operator_id: String(row.id),
  name: row.name,
  role: row.role,
  masked_token: maskedToken(row.token_id),
  expires_at: toIso(row.expires_at),
});

/** @throws TRPCError BAD_REQUEST for an end that has passed or is too far ahead */
function expiryOf(text: string | undefined, now: number): Date {
  if (text === undefined) return new Date(now + TOKEN_DAYS * DAY_MS);
  const at = instantMs(text);
  if (at <= now || at > now + TOKEN_DAYS_AT_MOST * DAY_MS) {
    throw new TRPCError({
      code: 'BAD_REQUEST',
      message: `expires_at must be in the future and at most ${TOKEN_DAYS_AT_MOST} days ahead; left out, it is ${TOKEN_DAYS} days ahead.`,
    });
  }
  return new Date(at);
}

const create = administratorProcedure
  .input(
    z
      .strictObject({
        name: OperatorName,
        role: RoleName.meta({
          description:
            'viewer reads; operator also redrives, resends and suspends; administrator does everything',
        }),
        expires_at: ExpiresAt,
      })
      .meta({ description: 'Creates an operator and shows its token, once.' }),
  )
  .output(IssuedToken)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { token, tokenId, hash } = generateOperatorToken();
      const row = em.create(OperatorAccount, {
        name: input.name,
        role: input.role,
        token_hash: hash,
        token_id: tokenId,
        created_by: ctx.operator.name,
        created_at: new Date(now),
        expires_at: expiryOf(input.expires_at, now),
        revoked_at: null,
      });
      try {
        await em.flush();
      } catch (error: unknown) {
        if (!(error instanceof UniqueConstraintViolationException)) throw error;
        throw new TRPCError({
          code: 'CONFLICT',
          message:
            'An operator of this name exists or existed; operators.rotate gives it a new token, or choose another name.',
        });
      }
      return { result: issued(row, token), siteCode: null, after: factsOf(row) };
    }),
  );

const issued = (row: OperatorAccount, token: string): z.infer<typeof IssuedToken> => ({
  operator_id: String(row.id),
  name: row.name,
  role: row.role,
  token,
  expires_at: toIso(row.expires_at),
});

const rotate = administratorProcedure
  .input(
    z
      .strictObject({
        operator_id: DecimalId.meta({ description: 'Id from operators.list' }),
        expires_at: ExpiresAt,
      })
      .meta({
        description: 'Gives an operator a new token, shown once; the former one ends at once.',
      }),
  )
  .output(IssuedToken)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const row = await lockOperator(em, { operator_id: input.operator_id });
      refuseRevoked(row);
      const before = factsOf(row);
      const { token, tokenId, hash } = generateOperatorToken();
      row.token_hash = hash;
      row.token_id = tokenId;
      row.expires_at = expiryOf(input.expires_at, now);
      return { result: issued(row, token), siteCode: null, before, after: factsOf(row) };
    }),
  );

const revoke = administratorProcedure
  .input(
    z
      .strictObject({
        operator_id: DecimalId.optional().meta({ description: 'Id from operators.list' }),
        name: z.string().max(200).optional().meta({ description: 'Or its name' }),
      })
      .meta({ description: 'Ends an operator and its token at once; it cannot be undone.' }),
  )
  .output(z.strictObject({ operator_id: DecimalId, name: z.string(), revoked_at: UtcInstant }))
  .mutation(async ({ ctx, input, path }) => {
    if ((input.operator_id === undefined) === (input.name === undefined)) {
      throw new TRPCError({
        code: 'BAD_REQUEST',
        message: 'Give either operator_id or name: one of them says who.',
      });
    }
    return mutate(ctx, path, async (em, now) => {
      const row = await lockOperator(em, input);
      refuseRevoked(row);
      row.revoked_at = new Date(now);
      const revoked = { operator_id: String(row.id), name: row.name, revoked_at: toIso(now) };
      return {
        result: revoked,
        siteCode: null,
        before: { ...factsOf(row), revoked_at: null },
        after: revoked,
      };
    });
  });

const list = viewerProcedure
  .input(
    z
      .strictObject({ cursor: IdCursor.optional(), limit: Limit })
      .meta({ description: 'Lists operators, ended ones too, with masked tokens, newest first.' }),
  )
  .output(pageOf(OperatorOut))
  .query(async ({ ctx: { services }, input: { cursor, limit } }) => {
    const before = cursor === undefined ? {} : { id: { $lt: BigInt(cursor) } };
    const rows = await services.orm.em
      .fork()
      .find(OperatorAccount, before, { orderBy: { id: 'desc' }, limit: limit + 1 });
    const now = services.clock.now();
    return toPage(
      rows,
      limit,
      (row) => toOperator(row, now),
      (row) => String(row.id),
    );
  });

/** @throws TRPCError NOT_FOUND */
async function lockOperator(
  em: EntityManager,
  who: { readonly operator_id?: string | undefined; readonly name?: string | undefined },
): Promise<OperatorAccount> {
  const where =
    who.operator_id === undefined ? { name: who.name ?? '' } : { id: BigInt(who.operator_id) };
  const row = await em.findOne(OperatorAccount, where, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (row !== null) return row;
  throw new TRPCError({
    code: 'NOT_FOUND',
    message:
      'There is no such operator; operators.list shows all. The first administrator is none of them: its token is ADMIN_TOKEN.',
  });
}

function refuseRevoked(row: OperatorAccount): void {
  if (row.revoked_at === null || row.revoked_at === undefined) return;
  throw new TRPCError({
    code: 'CONFLICT',
    message: `Operator ${row.id} was revoked at ${toIso(row.revoked_at)}; create a new one with operators.create.`,
  });
}

/** Who may call these procedures, beside the first administrator; tokens are shown once and stored as hashes. */
export const operators = router({ create, rotate, revoke, list });
