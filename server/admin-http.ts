import { TRPCError } from '@trpc/server';
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { getHTTPStatusCodeFromError } from '@trpc/server/http';
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc';
import type Koa from 'koa';
import { failureKind } from '../ledger/failures.ts';
import { listProcedures } from '../routers/admin/procedure-list.ts';
import { adminRouter } from '../routers/admin/router.ts';
import type { Context, Operator } from '../routers/procedure.ts';
import type { Services } from '../routers/services.ts';
import { readAdminInput } from './admin-input.ts';
import type { AdminLogin } from './admin-login.ts';
import type { OperatorIdentity } from './admin-token.ts';

/** Where the administrative procedures are served. */
export const ADMIN_PATH = '/admin/trpc';

/** Calls in one request at most. */
const BATCH_LIMIT = 10;

/** What the administrative side works with. */
export interface AdminHttpOptions {
  readonly services: Services;
  readonly login: AdminLogin;
  /** The address a request is counted and audited for. */
  readonly addressOf: (ctx: Koa.ParameterizedContext) => string;
  /** Gets what nobody foresaw: it is never sent, because its text may hold SQL or values. */
  readonly onFault?: (error: unknown) => void;
}

/**
 * Serves the administrative procedures at {@link ADMIN_PATH} as tRPC over HTTP; every other path passes through.
 *
 * A token is demanded before anything else is looked at. No CORS header is ever sent, so no page of another origin can
 * read an answer. Answers are never cached: some hold a key that is shown once.
 */
export function createAdminMiddleware(options: AdminHttpOptions): Koa.Middleware {
  return async (ctx, next) => {
    if (!ctx.path.startsWith(`${ADMIN_PATH}/`)) {
      await next();
      return;
    }
    nameOperation(ctx);
    ctx.set('Cache-Control', 'no-store');
    try {
      const address = options.addressOf(ctx);
      const identity = await demandOperator(ctx, options.login, address);
      const input = await readAdminInput(ctx);
      await answer(ctx, input, { ...identity, address }, options);
    } catch (error: unknown) {
      refuse(ctx, toRefusal(error));
    }
  };
}

const KNOWN = new Set(listProcedures().map(({ path }) => path));

/** Names the call for logs and metrics: only names that the router knows, whatever a caller makes up. */
function nameOperation(ctx: Koa.Context): void {
  const procedure = ctx.path.slice(ADMIN_PATH.length + 1);
  const known = KNOWN.has(procedure);
  ctx.state['route'] = known ? `${ADMIN_PATH}/${procedure}` : ADMIN_PATH;
  ctx.state['operation'] = known ? `admin.${procedure}` : 'admin';
}

/** @throws TRPCError UNAUTHORIZED, TOO_MANY_REQUESTS */
async function demandOperator(
  ctx: Koa.Context,
  login: AdminLogin,
  address: string,
): Promise<OperatorIdentity> {
  const outcome = await login(ctx.get('authorization'), address);
  if (outcome.kind === 'operator') return outcome.operator;
  if (outcome.kind === 'blocked') {
    ctx.set('Retry-After', String(outcome.seconds));
    throw new TRPCError({
      code: 'TOO_MANY_REQUESTS',
      message: `Too many failed logins came from this address; try again in ${outcome.seconds} seconds.`,
    });
  }
  ctx.set('WWW-Authenticate', 'Bearer');
  throw new TRPCError({
    code: 'UNAUTHORIZED',
    message: 'An operator token is required: send it as Authorization: Bearer <token>.',
  });
}

async function answer(
  ctx: Koa.Context,
  body: string | undefined,
  operator: Operator,
  { services, onFault }: AdminHttpOptions,
): Promise<void> {
  // Only what is needed of the request goes on: no header can ask tRPC for streaming or another body format.
  const request = new Request(`http://admin.invalid${ctx.path}?${ctx.querystring}`, {
    method: ctx.method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  });
  const response = await fetchRequestHandler({
    endpoint: ADMIN_PATH,
    req: request,
    router: adminRouter,
    maxBatchSize: BATCH_LIMIT,
    allowMethodOverride: true,
    createContext: (): Context => ({
      services,
      requestId: String(ctx.state['requestId']),
      operator,
    }),
    onError({ error }) {
      ctx.state['errorCode'] = error.code;
      if (error.code === 'INTERNAL_SERVER_ERROR') onFault?.(error.cause ?? error);
    },
  });
  ctx.status = response.status;
  ctx.type = 'application/json';
  ctx.body = await response.text();
}

function toRefusal(error: unknown): TRPCError {
  if (error instanceof TRPCError) return error;
  const kind = failureKind(error);
  if (kind !== 'unavailable' && kind !== 'retryable') throw error;
  return new TRPCError({
    code: 'SERVICE_UNAVAILABLE',
    message: 'The database cannot answer at the moment; try again in a few seconds.',
  });
}

/** A refusal before tRPC was reached, in tRPC's own shape, so that a typed client reads it like any other. */
function refuse(ctx: Koa.Context, error: TRPCError): void {
  const httpStatus = getHTTPStatusCodeFromError(error);
  ctx.status = httpStatus;
  ctx.state['errorCode'] = error.code;
  ctx.body = {
    error: {
      message: error.message,
      code: TRPC_ERROR_CODES_BY_KEY[error.code],
      data: { code: error.code, httpStatus },
    },
  };
}
