import { initTRPC, TRPCError } from '@trpc/server';
import type { OpenApiMeta } from 'trpc-to-openapi';
import { forbiddenKindOf } from '../contract/forbidden-data.ts';
import { IdempotencyKey } from '../contract/primitives.ts';
import { Refusal } from '../contract/errors.ts';
import { wordProblems } from '../contract/problem.ts';
import { rawInputProblems } from '../contract/raw-input.ts';
import type { Admission } from '../ledger/rate-window.ts';
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

/** How the holder of ADMIN_TOKEN is named in the audit; no stored operator can have this name. */
export const FIRST_ADMINISTRATOR = 'first administrator';

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
  readonly caller?: Caller | undefined;
  readonly operator?: Operator | undefined;
  /** The Idempotency-Key header as received. */
  readonly idempotencyKey?: string | undefined;
  readonly reply?: Reply;
  /** Set where the rate limit is to admit the request together with what it writes. */
  readonly admission?: Admission | undefined;
}

/** What a procedure says about itself: its REST form, or the role it needs. */
type ProcedureMeta = OpenApiMeta & { readonly role?: Role };

const t = initTRPC
  .context<Context>()
  .meta<ProcedureMeta>()
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

/** The base of the public procedures that read: one middleware, because each one copies the context. */
export const publicProcedure = (permission: Permission | null) =>
  t.procedure.use(async ({ ctx, getRawInput, next }) => {
    const caller = demandCaller(ctx, permission);
    refuseRawInput(await getRawInput());
    return next({ ctx: { caller } });
  });

/** The base of the public procedures that write: demands a well-formed Idempotency-Key without forbidden data. */
export const idempotentProcedure = (permission: Permission) =>
  t.procedure.use(async ({ ctx, getRawInput, next }) => {
    const caller = demandCaller(ctx, permission);
    const idempotencyKey = demandIdempotencyKey(ctx);
    refuseRawInput(await getRawInput());
    return next({ ctx: { caller, idempotencyKey } });
  });

/** A caller with the permission, where one is named: its absence is the only 403 of the public interface. */
function demandCaller(ctx: { caller?: Caller | undefined }, permission: Permission | null): Caller {
  if (ctx.caller === undefined) throw new Refusal('UNAUTHORIZED');
  if (permission !== null && !ctx.caller.permissions.has(permission)) {
    throw new Refusal('FORBIDDEN');
  }
  return ctx.caller;
}

function demandIdempotencyKey({
  idempotencyKey: key,
}: {
  idempotencyKey?: string | undefined;
}): string {
  if (key === undefined) throw keyRefusal('is required');
  if (!IdempotencyKey.safeParse(key).success) {
    throw keyRefusal('must be 8 to 128 characters of A-Z a-z 0-9 . _ : -');
  }
  if (forbiddenKindOf(key) !== undefined) throw keyRefusal('must not hold forbidden data');
  return key;
}

function refuseRawInput(raw: unknown): void {
  const problems = rawInputProblems(raw);
  if (problems.length > 0) {
    throw new Refusal('CONTRACT_VALIDATION_FAILED', { details: wordProblems(problems) });
  }
}

const keyRefusal = (problem: string): Refusal =>
  new Refusal('CONTRACT_VALIDATION_FAILED', { details: [`Idempotency-Key: ${problem}`] });

const RANK: Record<Role, number> = { viewer: 0, operator: 1, administrator: 2 };

/** The base of the administrative procedures: an operator of at least the given role, which its meta states as well. */
export const adminProcedure = (role: Role) =>
  t.procedure.meta({ role }).use(({ ctx, next }) => {
    if (ctx.operator === undefined) {
      throw new TRPCError({ code: 'UNAUTHORIZED', message: 'An operator token is required.' });
    }
    if (RANK[ctx.operator.role] < RANK[role]) {
      throw new TRPCError({ code: 'FORBIDDEN', message: `This procedure needs the role ${role}.` });
    }
    return next({ ctx: { operator: ctx.operator } });
  });
