import { flagOf, type Command, type Field, type FieldKind } from './commands.ts';
import { suggest, UsageError } from './usage-error.ts';

/** Flags that every command understands. */
export interface CommonFlags {
  help: boolean;
  json: boolean;
  /** Follows the task that the call started to its end. */
  wait: boolean;
  /** Where the input comes from as a whole: `-` for standard input, or JSON. */
  input: string | undefined;
}

/** A command line, taken apart. Flags are still text: what they mean depends on the command. */
export interface CommandLine {
  readonly words: readonly string[];
  readonly flags: readonly GivenFlag[];
  readonly common: CommonFlags;
}

/** One flag as given: `--name=value` has its value at once, `--name value` may take the word behind it. */
export interface GivenFlag {
  readonly name: string;
  readonly text: string;
  readonly inline: string | undefined;
  readonly following: string | undefined;
}

const COMMON = ['--help', '--json', '--wait', '--input'];

/** Takes the arguments apart. Words behind a flag may be its value, so only words before the first flag are commands. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const first = args.findIndex((arg) => arg.startsWith('-') && arg !== '-');
  const words = first === -1 ? args : args.slice(0, first);
  const common: CommonFlags = { help: false, json: false, wait: false, input: undefined };
  const flags: GivenFlag[] = [];
  for (let index = words.length; index < args.length; index += 1) {
    const text = args[index] ?? '';
    if (text === '-h') common.help = true;
    else if (text === '--help') common.help = true;
    else if (text === '--json') common.json = true;
    else if (text === '--wait') common.wait = true;
    else if (!text.startsWith('--')) {
      const before = flags.at(-1);
      if (before?.following !== text || args[index - 1] !== before.text) {
        throw new UsageError(
          `"${text}" is not expected here; every value needs a flag such as --code.`,
        );
      }
    } else {
      const equals = text.indexOf('=');
      const name = (equals === -1 ? text : text.slice(0, equals)).replaceAll('_', '-');
      const inline = equals === -1 ? undefined : text.slice(equals + 1);
      const next = args[index + 1];
      const following =
        inline === undefined && next !== undefined && !next.startsWith('--') ? next : undefined;
      if (name === '--input') {
        common.input = inline ?? following;
        if (common.input === undefined) {
          throw new UsageError('--input needs a value: - for standard input, or JSON.');
        }
        if (following !== undefined) index += 1;
      } else {
        flags.push({ name, text, inline, following });
      }
    }
  }
  return { words, flags, common };
}

/** Names what is to be read from standard input: every flag whose value is `-`, and the input as a whole. */
export function stdinReaders({ flags, common }: CommandLine): string[] {
  const names = flags.filter(isStdin).map((flag) => flag.name);
  return common.input === '-' ? ['--input', ...names] : names;
}

const isStdin = (flag: GivenFlag): boolean => (flag.inline ?? flag.following) === '-';

/** The flags with the text of standard input in place of `-`; the line break at its end belongs to the shell. */
export function withStdin(flags: readonly GivenFlag[], text: string): GivenFlag[] {
  const inline = text.replace(/\r?\n$/, '');
  return flags.map((flag) => (isStdin(flag) ? { ...flag, inline } : flag));
}

/**
 * Builds a procedure's input from flags, on top of what `--input` gave.
 *
 * @throws UsageError for an unknown flag, a value of another type, or a missing required field
 */
export function buildInput(
  command: Command,
  given: readonly GivenFlag[],
  base: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const input: Record<string, unknown> = structuredClone(base);
  const byFlag = new Map(command.fields.map((field) => [flagOf(field), field]));
  const seen = new Set<string>();
  for (const flag of given) {
    const negated = byFlag.get(flag.name.replace(/^--no-/, '--'));
    const off = flag.name.startsWith('--no-') && negated?.kind === 'boolean';
    const field = byFlag.get(flag.name) ?? (off ? negated : undefined);
    if (field === undefined) {
      throw new UsageError(
        `${flag.name} is no flag of ${command.router} ${command.procedure}${suggest(flag.name, [...byFlag.keys(), ...COMMON]) || '; --help lists its flags.'}`,
      );
    }
    const name = flagOf(field);
    if (seen.has(name) && field.kind !== 'array') {
      throw new UsageError(`${name} is given twice; give it once.`);
    }
    const value = off ? false : valueOf(field, textOf(field, flag));
    const earlier = seen.has(name) ? at(input, field.path) : undefined;
    put(input, field.path, Array.isArray(earlier) ? [...earlier, ...(value as unknown[])] : value);
    seen.add(name);
  }
  const missing = command.fields.filter(
    (field) => field.required && at(input, field.path) === undefined,
  );
  if (missing.length > 0) {
    const names = missing.map((field) =>
      field.kind === 'object' ? `${flagOf(field)} '{}'` : flagOf(field),
    );
    throw new UsageError(
      `${command.router} ${command.procedure} needs ${names.join(', ')}; --help explains the flags.`,
    );
  }
  return input;
}

/** A boolean takes the word behind it only where that is true or false; every other flag needs a value. */
function textOf(field: Field, flag: GivenFlag): string {
  if (flag.inline !== undefined) return flag.inline;
  const { following } = flag;
  if (field.kind === 'boolean') {
    if (following === undefined || following === 'true' || following === 'false') {
      return following ?? 'true';
    }
    throw new UsageError(
      `"${following}" is not expected behind ${flag.name}, which takes no value.`,
    );
  }
  if (following === undefined) {
    throw new UsageError(
      `${flag.name} needs a value; write ${flag.name}=VALUE where it begins with --.`,
    );
  }
  return following;
}

function valueOf(field: Field, text: string): unknown {
  const name = flagOf(field);
  if (field.kind === 'array') {
    const parts = text.startsWith('[') ? parseJson(name, text) : text.split(/,|\r?\n/);
    if (!Array.isArray(parts)) throw new UsageError(`${name} must be a list.`);
    return parts.map((part: unknown) =>
      typeof part === 'string' ? scalarOf(name, field.itemKind, part.trim(), field.choices) : part,
    );
  }
  return scalarOf(name, field.kind, text, field.choices);
}

function scalarOf(
  name: string,
  kind: FieldKind,
  text: string,
  choices: readonly string[],
): unknown {
  switch (kind) {
    case 'string':
      return choices.length === 0 ? text : choiceOf(name, text, choices);
    case 'integer':
      return demand(
        /^[+-]?\d+$/.test(text) && Number.isSafeInteger(Number(text)),
        name,
        'a whole number',
        Number(text),
      );
    case 'number':
      return demand(
        text.trim() !== '' && Number.isFinite(Number(text)),
        name,
        'a number',
        Number(text),
      );
    case 'boolean':
      return demand(text === 'true' || text === 'false', name, 'true or false', text === 'true');
    case 'object': {
      const value = parseJson(name, text);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      return demand(isObject, name, "a JSON object such as '{}'", value);
    }
    case 'array':
    case 'json':
      return parseLoosely(text);
  }
  return kind satisfies never;
}

function demand<Value>(holds: boolean, name: string, what: string, value: Value): Value {
  if (!holds) throw new UsageError(`${name} must be ${what}.`);
  return value;
}

function choiceOf(name: string, text: string, choices: readonly string[]): string {
  const choice = choices.find((known) => known.toLowerCase() === text.toLowerCase());
  if (choice !== undefined) return choice;
  const hint = suggest(text, choices) || '.';
  throw new UsageError(`${name} must be one of ${choices.join(', ')}${hint}`);
}

/** What is no JSON is meant as text. */
function parseLoosely(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new UsageError(`${name} is not JSON; quote it for the shell, such as ${name} '{}'.`);
  }
}

function at(input: Record<string, unknown>, path: readonly string[]): unknown {
  let value: unknown = input;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name))
      return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function put(input: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let place = input;
  for (const name of path.slice(0, -1)) {
    const inner = place[name];
    if (typeof inner === 'object' && inner !== null) {
      place = inner as Record<string, unknown>;
    } else {
      const made: Record<string, unknown> = {};
      place[name] = made;
      place = made;
    }
  }
  const last = path.at(-1);
  if (last !== undefined) place[last] = value;
}
