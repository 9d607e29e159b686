import type { AnyTRPCRouter } from '@trpc/server';
import type { OpenApiMeta } from 'trpc-to-openapi';
import type { Context } from '../routers/procedure.ts';
import { compilePath, type PathTemplate } from './paths.ts';

/** Calls a procedure with what was sent. @throws whatever a step of the procedure throws */
export type Call = (ctx: Context, rawInput: unknown) => Promise<object>;

/** One procedure on its REST path. */
export interface Operation {
  /** Key of the procedure in its router. */
  readonly procedure: string;
  readonly call: Call;
  readonly operationId: string;
  readonly method: 'GET' | 'POST';
  readonly path: PathTemplate;
}

interface Declared {
  readonly _def: {
    readonly meta?: OpenApiMeta;
    readonly type: 'query' | 'mutation';
    readonly middlewares: readonly Step[];
  };
}

/** A step of a procedure: our checks, the parsing of the input, that of the output, and last the procedure itself. */
type Step = (options: {
  readonly ctx: object;
  readonly type: 'query' | 'mutation';
  readonly path: string;
  readonly input: unknown;
  readonly getRawInput: () => Promise<unknown>;
  readonly meta: OpenApiMeta | undefined;
  readonly signal: undefined;
  readonly next: (changed?: { readonly ctx?: object; readonly input?: unknown }) => Promise<Result>;
}) => Promise<Result>;

type Result =
  { readonly ok: true; readonly data: object } | { readonly ok: false; readonly error: unknown };

/**
 * Runs the steps of a procedure as tRPC's own caller does. That one copies all options twice for every step, property
 * by property: a twelfth of what an event costs (docs/decisions/0007-one-trip-group-commit.md).
 */
function callOf(path: string, { meta, middlewares, type }: Declared['_def']): Call {
  return async (context, rawInput) => {
    const getRawInput = (): Promise<unknown> => Promise.resolve(rawInput);
    const run = async (index: number, ctx: object, input: unknown): Promise<Result> => {
      const step = middlewares[index];
      if (step === undefined) throw new Error(`${path}: a step after the last`);
      return step({
        ctx,
        type,
        path,
        input,
        getRawInput,
        meta,
        signal: undefined,
        next: async (changed) => {
          const changedCtx = changed?.ctx === undefined ? ctx : { ...ctx, ...changed.ctx };
          const changedInput = changed !== undefined && 'input' in changed ? changed.input : input;
          try {
            return await run(index + 1, changedCtx, changedInput);
          } catch (error: unknown) {
            return { ok: false, error };
          }
        },
      });
    };
    const result = await run(0, context, undefined);
    if (!result.ok) throw result.error;
    return result.data;
  };
}

/** Every procedure of a router that declares a REST path. @throws Error for a method the adapter does not serve */
export function operationsOf(router: AnyTRPCRouter): Operation[] {
  const operations: Operation[] = [];
  // tRPC keeps what a procedure declares in `_def`; it has no other way to ask.
  // oxlint-disable-next-line no-underscore-dangle
  for (const [procedure, definition] of Object.entries(router._def.procedures)) {
    const { _def: declared } = definition as Declared;
    const meta = declared.meta?.openapi;
    if (meta === undefined) continue;
    if (meta.method !== 'GET' && meta.method !== 'POST') {
      throw new Error(`${procedure}: the adapter serves GET and POST only`);
    }
    operations.push({
      procedure,
      call: callOf(procedure, declared),
      operationId: meta.operationId ?? procedure,
      method: meta.method,
      path: compilePath(meta.path),
    });
  }
  return operations;
}
