import { initTRPC, TRPCError } from '@trpc/server';
import type { OpenApiMeta } from 'trpc-to-openapi';
import { findForbidden, forbiddenKindOf } from '../contract/forbidden-data.ts';
import { findJsonProblem } from '../contract/json-limits.ts';
import { IdempotencyKey } from '../contract/primitives.ts';
import { Refusal } from '../contract/errors.ts';
import { wordProblems } from '../contract/problem.ts';
import type { Services } from './services.ts';

/** What a Site's credential allows; the default is all of it. */
export type Permission = 'ingest' | 'read' | 'label';

/** The Site and credential behind an API key. */
export interface Caller {
  readonly credentialId: bigint;
  readonly siteId: bigint;
  readonly environment: 'production' | 'sandbox';
  readonly customerType: 'SINGLE_COMPANY' | 'MULTI_MERCHANT';
  /** Stands for the merchant of a SINGLE_COMPANY Site; never returned. */
  readonly defaultSubject: string;
  readonly permissions: ReadonlySet<string>;
}

/** What an operator may do: viewer reads, operator acts on traffic, administrator does everything. */
export type Role = 'viewer' | 'operator' | 'administrator';

/** The person or tool behind an administrative call. */
export interface Operator {
  readonly name: string;
  readonly role: Role;
  /** Where the call came from, for the audit. */
  readonly address: string;
}

/** What a procedure may set on the REST answer beside its body. */
export interface Reply {
  status: number;
  readonly headers: Map<string, string>;
}

/** What every procedure is called with. A public one demands `caller`, an administrative one `operator`. */
export interface Context {
  readonly services: Services;
  readonly requestId: string;
  readonly caller?: Caller;
  readonly operator?: Operator;
  /** The Idempotency-Key header as received. */
  readonly idempotencyKey?: string | undefined;
  readonly reply?: Reply;
}

const t = initTRPC
  .context<Context>()
  .meta<OpenApiMeta>()
  .create({
    isDev: false,
    errorFormatter({ shape, error }) {
      // What nobody foresaw may carry SQL or row values in its text: it is logged by its class, never sent.
      const foreseen = error.code !== 'INTERNAL_SERVER_ERROR';
      return foreseen ? shape : { ...shape, message: 'The call could not be completed.' };
    },
  });

export const router = t.router;
export const createCallerFactory = t.createCallerFactory;

/**
 * The base of the public procedures: a caller, then the raw input checked for what must not be stored, logged or worded
 * (limits of JSON, forbidden data) before any schema sees it.
 */
export const publicProcedure = t.procedure.use(async ({ ctx, getRawInput, next }) => {
  if (ctx.caller === undefined) throw new Refusal('UNAUTHORIZED');
  const raw: unknown = await getRawInput();
  const problem = findJsonProblem(raw);
  if (problem !== undefined) {
    throw new Refusal('CONTRACT_VALIDATION_FAILED', { details: wordProblems([problem]) });
  }
  const forbidden = findForbidden(raw);
  if (forbidden.length > 0) {
    throw new Refusal('CONTRACT_VALIDATION_FAILED', {
      details: wordProblems(
        forbidden.map(({ path, kind }) => ({ path, message: `must not be sent (${kind})` })),
      ),
    });
  }
  return next({ ctx: { ...ctx, caller: ctx.caller } });
});

/** Demands a permission of the credential. Its absence is the only 403 of the public interface. */
export const withPermission = (permission: Permission) =>
  t.procedure.use(({ ctx, next }) => {
    if (ctx.caller?.permissions.has(permission) !== true) throw new Refusal('FORBIDDEN');
    return next();
  });

/** Demands a well-formed Idempotency-Key that holds no forbidden data. */
export const withIdempotencyKey = t.procedure.use(({ ctx, next }) => {
  const key = ctx.idempotencyKey;
  const problem =
    key === undefined
      ? 'is required'
      : !IdempotencyKey.safeParse(key).success
        ? 'must have 8 to 128 characters of A-Z a-z 0-9 . _ : -'
        : forbiddenKindOf(key) !== undefined
          ? 'must not hold forbidden data'
          : undefined;
  if (key === undefined || problem !== undefined) {
    throw new Refusal('CONTRACT_VALIDATION_FAILED', {
      details: [`Idempotency-Key: ${problem ?? 'is required'}`],
    });
  }
  return next({ ctx: { ...ctx, idempotencyKey: key } });
});

const RANK: Record<Role, number> = { viewer: 0, operator: 1, administrator: 2 };

/** The base of the administrative procedures: an operator of at least the given role. */
export const adminProcedure = (role: Role) =>
  t.procedure.use(({ ctx, next }) => {
    if (ctx.operator === undefined) {
      throw new TRPCError({ code: 'UNAUTHORIZED', message: 'An operator token is required.' });
    }
    if (RANK[ctx.operator.role] < RANK[role]) {
      throw new TRPCError({ code: 'FORBIDDEN', message: `This procedure needs the role ${role}.` });
    }
    return next({ ctx: { ...ctx, operator: ctx.operator } });
  });
