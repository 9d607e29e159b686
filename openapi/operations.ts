import type { AnyTRPCRouter } from '@trpc/server';
import type { OpenApiMeta } from 'trpc-to-openapi';
import type { Context } from '../routers/procedure.ts';
import { compilePath, type PathTemplate } from './paths.ts';

/**
 * Calls a procedure as tRPC's own caller does, without the proxy that one builds for every call. No option more than a
 * procedure needs: tRPC copies all of them eight times on the way.
 */
export type Call = (options: {
  readonly path: string;
  readonly getRawInput: () => Promise<unknown>;
  readonly ctx: Context;
  readonly type: 'query' | 'mutation';
}) => Promise<object>;

/** One procedure on its REST path. */
export interface Operation {
  /** Key of the procedure in its router. */
  readonly procedure: string;
  readonly type: 'query' | 'mutation';
  readonly call: Call;
  readonly operationId: string;
  readonly method: 'GET' | 'POST';
  readonly path: PathTemplate;
}

interface Declared {
  readonly _def: { readonly meta?: OpenApiMeta; readonly type: 'query' | 'mutation' };
}

/** Every procedure of a router that declares a REST path. @throws Error for a method the adapter does not serve */
export function operationsOf(router: AnyTRPCRouter): Operation[] {
  const operations: Operation[] = [];
  // tRPC keeps what a procedure declares in `_def`; it has no other way to ask.
  // oxlint-disable-next-line no-underscore-dangle
  for (const [procedure, definition] of Object.entries(router._def.procedures)) {
    // oxlint-disable-next-line no-underscore-dangle
    const { meta: declared, type } = (definition as Declared)._def;
    const meta = declared?.openapi;
    if (meta === undefined) continue;
    if (meta.method !== 'GET' && meta.method !== 'POST') {
      throw new Error(`${procedure}: the adapter serves GET and POST only`);
    }
    operations.push({
      procedure,
      type,
      call: definition as Call,
      operationId: meta.operationId ?? procedure,
      method: meta.method,
      path: compilePath(meta.path),
    });
  }
  return operations;
}
