import { findForbidden, forbiddenKindOf } from '../../contract/forbidden-data.ts';
import { findJsonProblem } from '../../contract/json-limits.ts';

/** Bytes of a receiver's answer that are kept for operators. */
const KEPT_BYTES = 256;

/**
 * The beginning of a receiver's answer as it may be stored: nothing forbidden, no secret, no control characters. What is
 * searched is all that was read, so that no card number hides behind the cut.
 *
 * @returns at most 256 bytes of text, or undefined for an empty or compressed answer
 */
export function excerptOf(
  body: Buffer,
  encoding: string | undefined,
  secrets: readonly string[],
): string | undefined {
  if (body.length === 0) return undefined;
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return undefined;
  const text = body.toString('utf8');
  if (secrets.some((secret) => text.includes(secret))) return '[withheld: SIGNING_SECRET]';
  const clean = text.replace(UNPRINTABLE, ' ').trim();
  const kind = forbiddenInText(text, clean) ?? forbiddenInJson(text);
  if (kind !== undefined) return `[withheld: ${kind}]`;
  const cut = Buffer.from(clean.slice(0, KEPT_BYTES)).subarray(0, KEPT_BYTES).toString('utf8');
  const kept = cut.replace(/\ufffd+$/, '');
  return kept === '' ? undefined : kept;
}

// oxlint-disable-next-line no-control-regex -- these are what is taken out
const UNPRINTABLE = /[\u0000-\u001f\u007f\ufffd]+/g;

/**
 * As it came, as it would be kept, and without what stands between its characters: digits on lines of their own become
 * a card number where the lines are joined, and so do those of UTF-16, which has a NUL after each.
 */
function forbiddenInText(text: string, clean: string): string | undefined {
  for (const form of new Set([text, clean, text.replace(UNPRINTABLE, '')])) {
    const kind = forbiddenKindOf(form);
    if (kind !== undefined) return kind;
  }
  return undefined;
}

/** By key names too (`"password": "..."`), where the answer is JSON of a sane shape. */
function forbiddenInJson(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (findJsonProblem(value) !== undefined) return 'UNREADABLE';
    return findForbidden(value)[0]?.kind;
  } catch {
    return undefined;
  }
}
