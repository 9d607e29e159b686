import type { ApiDocument, Reference } from '../document-types.ts';

/** The component behind a reference, or the thing itself. @throws Error for a reference that leads nowhere */
export function resolve<T extends object>(document: ApiDocument, thing: T | Reference): T {
  const pointer = (thing as Partial<Reference>).$ref;
  if (pointer === undefined) return thing as T;
  let at: unknown = document;
  for (const step of pointer.replace('#/', '').split('/')) {
    at = (at as Record<string, unknown> | undefined)?.[step];
  }
  if (at === undefined) throw new Error(`${pointer} leads nowhere`);
  return at as T;
}

/** The name of a referenced component, such as `Risk`. */
export function nameOf(reference: { $ref?: string }): string | undefined {
  return reference.$ref?.split('/').at(-1);
}
