/**
 * The canonical form of a JSON value (RFC 8785): keys sorted by UTF-16 code units, no white space, ECMAScript's
 * numbers and escapes, -0 as 0. Equal values give equal texts, whatever their key order or spacing was.
 *
 * JSON.stringify writes numbers and escapes as the RFC demands and is far faster than anything written here, so all
 * that is left to do is the order of keys: a copy of the value with its keys sorted.
 *
 * @param value parsed JSON in which `findJsonProblem` found nothing: its depth bounds the recursion, and lone
 *   surrogates, which the RFC excludes, are absent
 * @throws TypeError for what is not JSON (undefined, functions, non-finite numbers, bigint)
 */
export function canonicalJson(value: unknown): string {
  const sorted = sortedCopy(value);
  return sorted === UNSORTABLE ? spelledOut(value) : JSON.stringify(sorted);
}

/** Stands for a value with a key that an object cannot keep in its place: `"10"` always comes before `"a"` and `"9"`. */
const UNSORTABLE = Symbol('unsortable');

function sortedCopy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return demandScalar(value);
  if (Array.isArray(value)) {
    const copy: unknown[] = [];
    for (const each of value as unknown[]) {
      const sorted = sortedCopy(each);
      if (sorted === UNSORTABLE) return UNSORTABLE;
      copy.push(sorted);
    }
    return copy;
  }
  const keys = sortedKeys(value);
  if (keys === undefined) return UNSORTABLE;
  const copy: Record<string, unknown> = {};
  for (const key of keys) {
    const sorted = sortedCopy((value as Record<string, unknown>)[key]);
    if (sorted === UNSORTABLE) return UNSORTABLE;
    copy[key] = sorted;
  }
  return copy;
}

function demandScalar(value: unknown): unknown {
  const isScalar =
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    value === null ||
    (typeof value === 'number' && Number.isFinite(value));
  if (!isScalar) throw new TypeError('Only JSON values have a canonical form.');
  return value;
}

/** Objects that were met with these keys in this order, and what they are when sorted. */
interface Shape {
  readonly next: Map<string, Shape>;
  /** Undefined until asked for; null where sorting cannot be kept. */
  sorted: readonly string[] | null | undefined;
}

const newShape = (): Shape => ({ next: new Map(), sorted: undefined });

/** Shapes remembered at most: callers send the same few again and again, and random keys must not fill the memory. */
const SHAPES_AT_MOST = 4_096;

const EMPTY_SHAPE = newShape();
let shapes = 1;

function sortedKeys(object: object): readonly string[] | undefined {
  let shape = EMPTY_SHAPE;
  // Parsed JSON inherits nothing that is enumerable; unlike Object.keys this makes no list.
  for (const key in object) {
    let next = shape.next.get(key);
    if (next === undefined) {
      if (shapes >= SHAPES_AT_MOST) return sortKeys(Object.keys(object)) ?? undefined;
      next = newShape();
      shape.next.set(key, next);
      shapes += 1;
    }
    shape = next;
  }
  if (shape.sorted === undefined) shape.sorted = sortKeys(Object.keys(object));
  return shape.sorted ?? undefined;
}

function sortKeys(keys: string[]): readonly string[] | null {
  if (keys.some((key) => key === '__proto__' || /^[0-9]+$/.test(key))) return null;
  // Without a comparator sort() compares UTF-16 code units, which is what the RFC asks for.
  return keys.sort();
}

function spelledOut(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(demandScalar(value));
  if (Array.isArray(value)) return `[${value.map(spelledOut).join(',')}]`;
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${spelledOut((value as Record<string, unknown>)[key])}`);
  return `{${members.join(',')}}`;
}
