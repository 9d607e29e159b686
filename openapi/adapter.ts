import { METHODS } from 'node:http';
import { Router } from '@koa/router';
import { TRPCError } from '@trpc/server';
import type Koa from 'koa';
import { ZodError } from 'zod';
import { Refusal } from '../contract/errors.ts';
import { problemsOfZodError, wordProblems } from '../contract/problem.ts';
import type { Caller, Reply } from '../routers/procedure.ts';
import type { Admission } from '../ledger/rate-window.ts';
import type { Services } from '../routers/services.ts';
import { v1Router } from '../routers/v1/router.ts';
import { operationsOf, type Operation } from './operations.ts';
import { pathParameters, type PathTemplate } from './paths.ts';

/** What the middlewares before the adapter leave for it on `ctx.state`. */
export interface RestState {
  requestId: string;
  /** Template of the matched path, for logs and metrics: never the URL. */
  route?: string;
  operation?: string;
  caller?: Caller;
  /** Code of the refusal that was answered. */
  errorCode?: string;
  /** The rate limit's say, where the operation is to get it by itself. */
  admission?: Admission;
}

/** Steps between route and procedure: who calls, how often, what was sent. */
export interface RestSteps {
  readonly authenticate: Koa.Middleware<RestState>;
  readonly limitRate: Koa.Middleware<RestState>;
  /** Reads the JSON body of a request; called for operations that have one. */
  readonly readBody: (ctx: Koa.ParameterizedContext<RestState>) => Promise<unknown>;
}

/**
 * The REST face: every procedure of the public router that declares a path, on exactly that path.
 *
 * trpc-to-openapi gives the declaration and generates the document; its own dispatcher is not used, because it turns on
 * coercion inside the shared schemas and fixes its own error body (docs/decisions/0001-rest-adapter.md).
 */
export function createRestRouter(services: Services, steps: RestSteps): Router<RestState> {
  const rest = new Router<RestState>({ sensitive: true, strict: true });
  const operations = operationsOf(v1Router);
  for (const operation of operations) {
    rest.register(
      operation.path.pattern,
      [operation.method],
      [
        nameOperation(operation),
        steps.authenticate,
        steps.limitRate,
        (ctx) => answer(ctx, operation, services, steps),
      ],
      { pathAsRegExp: true },
    );
  }
  // A known path with another method. Registered last, so it only sees what no operation took.
  for (const { path } of operations) {
    rest.register(
      path.pattern,
      METHODS,
      (ctx) => {
        ctx.state.route = path.template;
        throw new Refusal('METHOD_NOT_ALLOWED', { allow: allowedMethods(operations, path) });
      },
      { pathAsRegExp: true },
    );
  }
  return rest;
}

function allowedMethods(operations: readonly Operation[], path: PathTemplate): string[] {
  return operations
    .filter((operation) => operation.path.template === path.template)
    .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

const nameOperation =
  (operation: Operation): Koa.Middleware<RestState> =>
  (ctx, next) => {
    ctx.state.route = operation.path.template;
    ctx.state.operation = operation.operationId;
    return next();
  };

async function answer(
  ctx: Koa.ParameterizedContext<RestState>,
  operation: Operation,
  services: Services,
  steps: RestSteps,
): Promise<void> {
  const parameters = pathParameters(operation.path, ctx.path);
  const input =
    operation.method === 'POST'
      ? mergeInput(await steps.readBody(ctx), operation, parameters)
      : parameters;
  const reply: Reply = { status: 200, headers: new Map() };
  const { caller, admission } = ctx.state;
  const context = {
    services,
    requestId: ctx.state.requestId,
    caller,
    admission,
    idempotencyKey: ctx.get('idempotency-key') || undefined,
    reply,
  };
  try {
    const body = await operation.call(context, input);
    ctx.status = reply.status;
    for (const [name, value] of reply.headers) ctx.set(name, value);
    ctx.body = body;
  } catch (error: unknown) {
    throw refusalOf(error, input);
  }
}

/** The body's properties and the path's, flat, as the procedure declares them; the body cannot speak for the path. */
function mergeInput(
  body: unknown,
  operation: Operation,
  parameters: Record<string, string>,
): unknown {
  if (operation.path.parameters.length === 0) return body;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Refusal('CONTRACT_VALIDATION_FAILED', { details: ['body: must be an object'] });
  }
  if (operation.path.parameters.some((name) => Object.hasOwn(body, name))) {
    throw new Refusal('CONTRACT_VALIDATION_FAILED', {
      details: ['<undeclared>: is not declared by the contract'],
    });
  }
  // Own `__proto__` keys must survive until the check of the raw input refuses them.
  return Object.defineProperties(
    Object.defineProperties({}, Object.getOwnPropertyDescriptors(body)),
    Object.getOwnPropertyDescriptors(parameters),
  );
}

/** What a failed procedure means on the wire; anything unforeseen passes unchanged and becomes a bland 500. */
function refusalOf(error: unknown, input: unknown): unknown {
  if (!(error instanceof TRPCError)) return error;
  const { cause } = error;
  if (cause instanceof Refusal) return cause;
  if (error.code === 'BAD_REQUEST' && cause instanceof ZodError) {
    return new Refusal('CONTRACT_VALIDATION_FAILED', {
      details: wordProblems(problemsOfZodError(cause, input)),
    });
  }
  return cause ?? error;
}
