import { type DeclaredKeys, wordPath } from './declared-keys.ts';
import { hasIban } from './forbidden/bank-accounts.ts';
import { hasCardNumber, isCardInteger } from './forbidden/card-numbers.ts';
import { foldText } from './forbidden/folded-text.ts';
import { hasIpv4 } from './forbidden/ipv4.ts';
import { hasIpv6 } from './forbidden/ipv6.ts';
import { judgeKey, type KeyContext, type KeyName, NO_CONTEXT } from './forbidden/key-names.ts';
import { FORBIDDEN_KINDS, type ForbiddenKind } from './forbidden/kinds.ts';
import { labelledKind } from './forbidden/labelled-data.ts';
import { hasTrackData } from './forbidden/track-data.ts';
import { MAX_PROBLEMS, type Problem } from './problem.ts';

export type { ForbiddenKind } from './forbidden/kinds.ts';

/** Where something forbidden was found, and what kind it is; never the value, never an undeclared key's name. */
export interface ForbiddenFinding {
  readonly path: string;
  readonly kind: ForbiddenKind;
}

/**
 * Finds what must not be sent (contract, section 2.4) in parsed JSON: by the names of keys, and by the content of
 * strings, integers and key names, at any depth. Run it on the raw value, before anything is stored, logged or
 * worded, and after `findJsonProblem`: the depth it allows bounds the recursion.
 *
 * A key that names something forbidden refuses every value except null, true, false and blank strings, which hold
 * nothing; an object below it is judged key by key. Linear in the size of the value.
 *
 * @param options.declared key names that a path may show; by default those of the request bodies of /v1
 * @returns at most 20 findings in document order, one per value or key; empty when all is well
 */
export function findForbidden(
  value: unknown,
  options: { declared?: DeclaredKeys } = {},
): ForbiddenFinding[] {
  const walk: Walk = { steps: [], findings: [], declared: options.declared };
  visit(walk, value, undefined, undefined);
  return walk.findings;
}

/** Words findings for `error.details`. */
export function forbiddenProblems(findings: readonly ForbiddenFinding[]): Problem[] {
  return findings.map(({ path, kind }) => ({ path, message: FORBIDDEN_KINDS[kind] }));
}

/**
 * What kind of forbidden data a text holds, by its content alone: for header values and ids in paths.
 *
 * @returns the first kind found, or undefined
 */
export function forbiddenKindOf(
  text: string,
  context: KeyContext = NO_CONTEXT,
): ForbiddenKind | undefined {
  if (text.length < 3) return undefined; // the shortest is `::1`
  const folded = foldText(text);
  if (hasTrackData(folded)) return 'TRACK_DATA';
  if (hasCardNumber(folded, context)) return 'CARD_NUMBER';
  if (hasIpv4(folded, context) || hasIpv6(folded)) return 'IP_ADDRESS';
  if (hasIban(folded)) return 'ACCOUNT_NUMBER';
  return labelledKind(text, folded);
}

type Walk = {
  steps: (string | number)[];
  findings: ForbiddenFinding[];
  declared: DeclaredKeys | undefined;
};

/** @param name judgement of the nearest key above, arrays looked through; @param key that key */
function visit(
  walk: Walk,
  value: unknown,
  name: KeyName | undefined,
  key: string | undefined,
): void {
  if (typeof value === 'string' || typeof value === 'number') {
    const kind = kindOfValue(value, name);
    if (kind !== undefined) report(walk, kind);
  } else if (Array.isArray(value)) {
    for (let i = 0; i < value.length && walk.findings.length < MAX_PROBLEMS; i++) {
      walk.steps.push(i);
      visit(walk, value[i], name, key);
      walk.steps.pop();
    }
  } else if (typeof value === 'object' && value !== null) {
    visitMembers(walk, value as Record<string, unknown>, key);
  }
}

function visitMembers(
  walk: Walk,
  object: Record<string, unknown>,
  parent: string | undefined,
): void {
  for (const key of Object.keys(object)) {
    if (walk.findings.length >= MAX_PROBLEMS) return;
    let name = judgeKey(key);
    const { isPlain } = name;
    if (name.isGeneric && name.kind === undefined) name = judgeInPlace(key, name, object, parent);
    walk.steps.push(key);
    const kindInKey = isPlain ? undefined : forbiddenKindOf(key, name);
    if (kindInKey === undefined) visit(walk, object[key], name, key);
    else report(walk, kindInKey);
    walk.steps.pop();
  }
}

/** `number` says nothing alone: the key above may (`card`), or a sibling that names the field (`{ name, value }`). */
function judgeInPlace(
  key: string,
  name: KeyName,
  object: Record<string, unknown>,
  parent: string | undefined,
): KeyName {
  const inParent = parent === undefined ? name : judgeKey(`${parent}_${key}`);
  if (inParent.kind !== undefined) return inParent;
  for (const label of ['name', 'key', 'field', 'label']) {
    const sibling = Object.hasOwn(object, label) ? object[label] : undefined;
    if (typeof sibling === 'string') return judgeKey(sibling);
  }
  return name;
}

function report(walk: Walk, kind: ForbiddenKind): void {
  walk.findings.push({ path: wordPath(walk.steps, walk.declared), kind });
}

function kindOfValue(value: string | number, name: KeyName | undefined): ForbiddenKind | undefined {
  const byContent =
    typeof value === 'string'
      ? forbiddenKindOf(value, name)
      : isCardInteger(value, name)
        ? 'CARD_NUMBER'
        : undefined;
  if (byContent !== undefined || name === undefined) return byContent;
  if (name.kind !== undefined) return refusesByName(name.kind, value) ? name.kind : undefined;
  return name.isAccount && isAccountNumber(value) ? 'ACCOUNT_NUMBER' : undefined;
}

function refusesByName(kind: ForbiddenKind, value: string | number): boolean {
  if (kind !== 'IP_ADDRESS') return typeof value === 'number' || value.trim() !== '';
  // Content was clean, so this is a prefix, a word (`unknown`), a count, or an address in disguise.
  if (typeof value === 'number') return value >= 2 ** 24;
  return /[0-9]|::/.test(value) && !isPrefix(value);
}

/** Prefixes whose content passed, and addresses cut short: `203.0.113.0/24`, `203.0.113`, `203.0.113.*`. */
function isPrefix(text: string): boolean {
  return (
    /^[0-9a-f.:]+\/[0-9]{1,2}$/i.test(text) ||
    /^[0-9]{1,3}(?:\.[0-9]{1,3}){1,2}(?:\.[x*]{1,3}){0,2}\.?$/i.test(text)
  );
}

/** Seven to twenty digits, with single spaces or dashes at most. */
function isAccountNumber(value: string | number): boolean {
  return /^[0-9](?:[ -]?[0-9]){6,19}$/.test(String(value).trim());
}
