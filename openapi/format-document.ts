import type { ApiDocument } from './document-types.ts';

/** The published form: two spaces, keys in the order they were built in (itself fixed), a newline at the end. */
export function formatDocument(document: ApiDocument): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
