/**
 * The canonical form of a JSON value (RFC 8785): keys sorted by UTF-16 code units, no white space, ECMAScript's
 * numbers and escapes, -0 as 0. Equal values give equal texts, whatever their key order or spacing was.
 *
 * @param value parsed JSON in which `findJsonProblem` found nothing: its depth bounds the recursion, and lone
 *   surrogates, which the RFC excludes, are absent
 * @throws TypeError for what is not JSON (undefined, functions, non-finite numbers, bigint)
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (typeof value === 'number' && Number.isFinite(value)) return String(value); // -0 prints as 0
  if (value === null) return 'null';
  if (typeof value !== 'object') throw new TypeError('Only JSON values have a canonical form.');
  return Array.isArray(value) ? canonicalArray(value) : canonicalObject(value);
}

function canonicalArray(values: readonly unknown[]): string {
  let text = '[';
  for (let i = 0; i < values.length; i++) {
    if (i > 0) text += ',';
    text += canonicalJson(values[i]);
  }
  return text + ']';
}

function canonicalObject(object: object): string {
  // Without a comparator sort() compares UTF-16 code units, which is what the RFC asks for.
  const keys = Object.keys(object).sort();
  let text = '{';
  for (const key of keys) {
    if (text.length > 1) text += ',';
    text += quoted(key) + ':' + canonicalJson((object as Record<string, unknown>)[key]);
  }
  return text + '}';
}

/** Most strings need no escape, and looking is cheaper than JSON.stringify, whose escapes are the RFC's. */
function quoted(text: string): string {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const isSpecial =
      code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code <= 0xdfff);
    if (isSpecial) return JSON.stringify(text);
  }
  return `"${text}"`;
}
