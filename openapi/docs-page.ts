import type { ApiDocument } from './document-types.ts';

/** Renders the page a merchant's developer reads; the result takes the address it was reached at. */
export function renderDocsPage(document: ApiDocument): (origin?: string) => string {
  return () => `<!doctype html><html lang="en"><title>${document.info.title}</title></html>`;
}
