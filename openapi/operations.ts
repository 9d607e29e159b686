import type { AnyTRPCRouter } from '@trpc/server';
import type { OpenApiMeta } from 'trpc-to-openapi';
import { compilePath, type PathTemplate } from './paths.ts';

/** One procedure on its REST path. */
export interface Operation {
  /** Key of the procedure in its router. */
  readonly procedure: string;
  readonly operationId: string;
  readonly method: 'GET' | 'POST';
  readonly path: PathTemplate;
}

/** Every procedure of a router that declares a REST path. @throws Error for a method the adapter does not serve */
export function operationsOf(router: AnyTRPCRouter): Operation[] {
  const operations: Operation[] = [];
  // tRPC keeps what a procedure declares in `_def`; it has no other way to ask.
  // oxlint-disable-next-line no-underscore-dangle
  for (const [procedure, definition] of Object.entries(router._def.procedures)) {
    // oxlint-disable-next-line no-underscore-dangle
    const meta = (definition as { _def: { meta?: OpenApiMeta } })._def.meta?.openapi;
    if (meta === undefined) continue;
    if (meta.method !== 'GET' && meta.method !== 'POST') {
      throw new Error(`${procedure}: the adapter serves GET and POST only`);
    }
    operations.push({
      procedure,
      operationId: meta.operationId ?? procedure,
      method: meta.method,
      path: compilePath(meta.path),
    });
  }
  return operations;
}
