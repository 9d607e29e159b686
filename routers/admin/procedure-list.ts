import type { z } from 'zod';
import type { Role } from '../procedure.ts';
import { adminRouter } from './router.ts';

/** One administrative procedure as the router knows it. */
export interface ProcedureEntry {
  /** Its path on the wire: `sites.create`. */
  readonly path: string;
  readonly type: 'query' | 'mutation';
  /** The lowest role that may call it; undefined only where its base states none, which a test refuses. */
  readonly role: Role | undefined;
  /** The schema of its input, described for people; undefined where it takes none. */
  readonly input: z.ZodType | undefined;
  readonly hasOutput: boolean;
  readonly hasRestPath: boolean;
}

interface Definition {
  readonly type: 'query' | 'mutation';
  readonly inputs: readonly z.ZodType[];
  readonly output?: unknown;
  readonly meta?: { readonly openapi?: unknown; readonly role?: Role };
}

/** Every administrative procedure: what is derived from it needs no change when one is added. */
export function listProcedures(): ProcedureEntry[] {
  // tRPC keeps its definitions under this name, at run time as one flat record by path, which its types do not say.
  // oxlint-disable-next-line no-underscore-dangle
  const procedures = adminRouter._def.procedures as unknown as Record<string, { _def: Definition }>;
  return Object.entries(procedures).map(([path, { _def: definition }]) => ({
    path,
    type: definition.type,
    role: definition.meta?.role,
    input: definition.inputs[0],
    hasOutput: definition.output !== undefined,
    hasRestPath: definition.meta?.openapi !== undefined,
  }));
}
