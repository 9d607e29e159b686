import { z } from 'zod';
import { OutcomeLabelRequest } from './outcome.ts';
import { UNDECLARED } from './problem.ts';
import { TransactionEvent } from './transaction.ts';

/** The key names the contract declares, as a tree: only these may be named in an answer. A Map, so that `constructor` is no member. */
export interface DeclaredKeys extends ReadonlyMap<string, DeclaredKeys> {}

/** The declared keys of an object schema, at any depth. */
export function declaredKeysOf(schema: z.ZodType): DeclaredKeys {
  let inner: unknown = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable) inner = inner.unwrap();
  const keys = new Map<string, DeclaredKeys>();
  if (inner instanceof z.ZodObject) {
    for (const [name, field] of Object.entries(inner.shape)) {
      keys.set(name, declaredKeysOf(field as z.ZodType));
    }
  }
  return keys;
}

/**
 * What the request bodies and paths of /v1 declare; the default where an input is judged before its operation is known.
 */
export const REQUEST_KEYS: DeclaredKeys = new Map([
  ...declaredKeysOf(TransactionEvent),
  ...declaredKeysOf(OutcomeLabelRequest),
  ['ingestionId', new Map()],
  ['sourceEventId', new Map()],
]);

/**
 * Words where in a JSON value something was found: `transaction.tid`, `order.<undeclared>[3]`, '' for the whole.
 * Below an undeclared key nothing is declared.
 */
export function wordPath(
  steps: readonly (string | number)[],
  declared: DeclaredKeys = REQUEST_KEYS,
): string {
  let path = '';
  let known: DeclaredKeys | undefined = declared;
  for (const step of steps) {
    if (typeof step === 'number') {
      path += `[${step}]`;
      known = undefined;
    } else {
      known = known?.get(step);
      path += (path === '' ? '' : '.') + (known === undefined ? UNDECLARED : step);
    }
  }
  return path;
}
