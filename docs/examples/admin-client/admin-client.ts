import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';
// Only its type: nothing of the service is loaded when this runs.
import type { AppRouter } from '../../../routers/admin/router.ts';

type Inputs = inferRouterInputs<AppRouter>;
type Outputs = inferRouterOutputs<AppRouter>;

/** Every procedure by its path: `'sites.create' | 'sites.get' | …` */
export type ProcedurePath = {
  [Router in keyof Inputs]: `${Router}.${Extract<keyof Inputs[Router], string>}`;
}[keyof Inputs];

type At<Tree, Path extends string> = Path extends `${infer Router}.${infer Procedure}`
  ? Router extends keyof Tree
    ? Procedure extends keyof Tree[Router]
      ? Tree[Router][Procedure]
      : never
    : never
  : never;

/** What a procedure takes and what it answers. */
export type InputOf<Path extends ProcedurePath> = At<Inputs, Path>;
export type OutputOf<Path extends ProcedurePath> = At<Outputs, Path>;

/** The service refused: `code` is tRPC's, such as NOT_FOUND or FORBIDDEN; the message says what to do. */
export class AdminRefusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Where the service listens (its ADMIN_PORT, where it has one), and the token of an operator. */
export interface AdminAddress {
  readonly url: string;
  readonly token: string;
}

/**
 * A typed client of the administrative procedures, without a dependency at run time.
 *
 * @returns a function that calls one procedure
 * @throws AdminRefusal from that function; fetch's own error where nothing answers
 */
export function createAdminClient({ url, token }: AdminAddress) {
  return async <Path extends ProcedurePath>(
    path: Path,
    input: InputOf<Path>,
  ): Promise<OutputOf<Path>> => {
    const response = await fetch(`${url}/admin/trpc/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(input),
      redirect: 'error',
      signal: AbortSignal.timeout(60_000),
    });
    const answer = (await response.json()) as {
      readonly result?: { readonly data: OutputOf<Path> };
      readonly error?: { readonly message: string; readonly data: { readonly code: string } };
    };
    if (answer.result !== undefined) return answer.result.data;
    throw new AdminRefusal(
      answer.error?.data.code ?? 'UNKNOWN',
      answer.error?.message ?? `The service answered with status ${response.status}.`,
    );
  };
}
