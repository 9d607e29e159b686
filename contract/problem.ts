import type { z } from 'zod';

/**
 * One thing wrong with what a caller sent.
 *
 * `path` reads like `transaction.amount_minor` or `order.<undeclared>[3]`; '' is the whole body.
 * Neither field ever holds a value that was sent, nor the name of a key that the contract does not declare
 * (either may be a card number).
 */
export type Problem = { path: string; message: string };

/** Details of one refusal are cut here: enough to repair a client, too few to make the answer a burden. */
export const MAX_PROBLEMS = 20;

/** Stands in a path for a key whose name the caller chose. */
export const UNDECLARED = '<undeclared>';

/**
 * Words problems for `error.details`.
 *
 * @returns `path: what is wrong`, at most {@link MAX_PROBLEMS} lines; the whole body is called `body`
 */
export function wordProblems(problems: readonly Problem[]): string[] {
  return problems
    .slice(0, MAX_PROBLEMS)
    .map(({ path, message }) => `${path === '' ? 'body' : path}: ${message}`);
}

/**
 * Words zod's findings ourselves: zod's own text quotes undeclared key names.
 *
 * Messages given in a schema (`{ error: 'must be …' }`) are used for formats and custom checks only, and only
 * when they read like a problem. Keys of a `z.record` appear as `<undeclared>` unless they look like a field
 * name, so a schema for callers' data must not validate inside records.
 *
 * @param input the value that was parsed; with it a missing field is told apart from one of the wrong type
 * @returns at most {@link MAX_PROBLEMS} problems, in zod's order
 */
export function problemsOfZodError(error: z.ZodError, input?: unknown): Problem[] {
  return error.issues
    .filter((issue, index) => !isSizeOfWrongType(issue, error.issues[index - 1]))
    .slice(0, MAX_PROBLEMS)
    .map((issue) => ({ path: pathOf(issue), message: messageOf(issue, input) }));
}

/** zod goes on to measure a value that has a length but the wrong type, such as `[]` where a string is due. */
function isSizeOfWrongType(issue: Issue, before: Issue | undefined): boolean {
  if (issue.code !== 'too_small' && issue.code !== 'too_big') return false;
  return before?.code === 'invalid_type' && before.path.join() === issue.path.join();
}

type Issue = z.core.$ZodIssue;

const FIELD_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

function pathOf(issue: Issue): string {
  let path = '';
  for (const step of issue.path) {
    if (typeof step === 'number') path += `[${step}]`;
    else path = join(path, FIELD_NAME.test(String(step)) ? String(step) : UNDECLARED);
  }
  return issue.code === 'unrecognized_keys' ? join(path, UNDECLARED) : path;
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function messageOf(issue: Issue, input: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      return isMissing(issue, input)
        ? `is required and must be ${typeName(issue.expected)}`
        : `must be ${typeName(issue.expected)}`;
    case 'invalid_value': {
      const required = isMissing(issue, input) ? 'is required and ' : '';
      return issue.values.length === 1
        ? `${required}must be ${quoted(issue.values[0])}`
        : `${required}must be one of ${issue.values.map(String).join(', ')}`;
    }
    case 'too_small':
      return sizeMessage('at least', issue.origin, issue.minimum);
    case 'too_big':
      return sizeMessage('at most', issue.origin, issue.maximum);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return issue.keys.length === 1
        ? 'is not declared by the contract'
        : `is not declared by the contract (${issue.keys.length} such properties)`;
    case 'invalid_format':
    case 'custom':
      return /^(must|is) /.test(issue.message) ? issue.message : 'has a wrong format';
    case 'invalid_union':
      return 'matches none of the allowed shapes';
    case 'invalid_key':
      return 'has a property name of a wrong format';
    case 'invalid_element':
      return 'has an element of a wrong format';
    default:
      return unexpected(issue);
  }
}

/** A lone allowed value in quotes where it is a string: "1.0" is not the number 1.0. */
function quoted(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : String(value);
}

function unexpected(_issue: never): string {
  return 'is not valid';
}

function isMissing(issue: Issue, input: unknown): boolean {
  if (input === undefined || issue.path.length === 0) return false;
  let at: unknown = input;
  for (const step of issue.path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return true;
    at = (at as Record<PropertyKey, unknown>)[step];
  }
  return at === undefined;
}

const TYPE_NAMES = new Map<string, string>([
  ['string', 'a string'],
  ['number', 'a number'],
  ['int', 'an integer'],
  ['boolean', 'true or false'],
  ['object', 'an object'],
  ['record', 'an object'],
  ['array', 'an array'],
  ['null', 'null'],
]);

function typeName(expected: string): string {
  return TYPE_NAMES.get(expected) ?? 'of another type';
}

function sizeMessage(bound: string, origin: string, size: number | bigint): string {
  if (origin === 'string') {
    return `must be ${bound} ${size} ${Number(size) === 1 ? 'character' : 'characters'} long`;
  }
  if (origin === 'array') {
    return `must have ${bound} ${size} ${Number(size) === 1 ? 'element' : 'elements'}`;
  }
  return `must be ${bound} ${size}`;
}
