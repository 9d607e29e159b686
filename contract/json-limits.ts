import { type DeclaredKeys, wordPath } from './declared-keys.ts';
import type { Problem } from './problem.ts';

/** Objects and arrays may nest this deep; the body itself is level 1. */
export const MAX_DEPTH = 32;
/** Object keys in one body, over all levels. */
export const MAX_KEYS = 4096;

/**
 * Finds what parsed JSON must not hold, so that later steps may recurse and unlike payloads never hash alike:
 * depth over {@link MAX_DEPTH}, more than {@link MAX_KEYS} keys, NUL or lone surrogates in strings and keys,
 * numbers that are not finite or lie beyond ±(2^53 - 1), and own `__proto__` keys (zod drops those unseen).
 *
 * @param declared key names that the path may show; by default those of the request bodies of /v1
 * @returns the first problem in document order, or undefined
 */
export function findJsonProblem(value: unknown, declared?: DeclaredKeys): Problem | undefined {
  const found = findIn(value, 1, { keys: 0 });
  return found && { path: wordPath(found.steps.reverse(), declared), message: found.message };
}

/** A finding; steps are collected while unwinding, so the innermost comes first. */
type Finding = { steps: (string | number)[]; message: string };

function findIn(value: unknown, depth: number, count: { keys: number }): Finding | undefined {
  if (typeof value === 'string') return findInText(value, '');
  if (typeof value === 'number') return findInNumber(value);
  if (typeof value === 'boolean' || value === null) return undefined;
  if (typeof value !== 'object') return finding('must be a JSON value');
  if (depth > MAX_DEPTH) return finding(`must not be nested deeper than ${MAX_DEPTH} levels`);

  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = findIn(value[i], depth + 1, count);
      if (found !== undefined) return at(i, found);
    }
    return undefined;
  }
  const keys = Object.keys(value);
  count.keys += keys.length;
  if (count.keys > MAX_KEYS) return finding(`must not bring the body above ${MAX_KEYS} keys`);
  for (const key of keys) {
    const found =
      findInKey(key) ?? findIn((value as Record<string, unknown>)[key], depth + 1, count);
    if (found !== undefined) return at(key, found);
  }
  return undefined;
}

function findInKey(key: string): Finding | undefined {
  return key === '__proto__'
    ? finding('must not be named __proto__')
    : findInText(key, ' in its name');
}

function findInText(text: string, where: string): Finding | undefined {
  if (text.includes('\0')) return finding(`must not contain NUL (U+0000)${where}`);
  if (!text.isWellFormed()) return finding(`must not contain an unpaired surrogate${where}`);
  return undefined;
}

function findInNumber(value: number): Finding | undefined {
  if (value >= -Number.MAX_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER) return undefined;
  return finding('must be a number between -(2^53 - 1) and 2^53 - 1');
}

function finding(message: string): Finding {
  return { steps: [], message };
}

function at(step: string | number, found: Finding): Finding {
  found.steps.push(step);
  return found;
}
