import type { Schema } from '../document-types.ts';
import type { Deviation } from './types.ts';

type Schemas = Readonly<Record<string, Schema>>;

/** Keywords that say nothing about which values fit, or are read beside another. */
const ANNOTATIONS = 'description example title discriminator nullable';
const CHECKED =
  '$ref type format enum pattern minLength maxLength minimum maximum items properties required additionalProperties allOf anyOf oneOf';
const KNOWN = new Set(`${ANNOTATIONS} ${CHECKED}`.split(' '));

/** RFC 3339, section 5.6; the offset is required. */
const DATE_TIME =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;

/**
 * What does not fit a schema, by path and never by value. Knows the part of OpenAPI 3.0.3 that our document uses; see
 * {@link unknownKeywords}. Stricter than the specification in one point:
 * properties that a schema with `properties` does not name are undeclared unless it says `additionalProperties: true`,
 * because a gateway that adds fields shows something nobody promised.
 */
export function schemaProblems(
  schema: Schema,
  value: unknown,
  schemas: Schemas,
  path = 'body',
): Deviation[] {
  if (schema.$ref !== undefined) {
    return schemaProblems(named(schema.$ref, schemas), value, schemas, path);
  }
  if (value === null && schema.nullable === true) return [];
  const problems: Deviation[] = [];
  const say = (expected: string): void => {
    problems.push({ aspect: path, expected, came: worded(value) });
  };
  if (schema.type !== undefined && !isType(value, schema.type)) {
    say(article(schema.type));
    return problems;
  }
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    say(`one of ${schema.enum.map(String).join(', ')}`);
  }
  if (typeof value === 'string') problems.push(...textProblems(schema, value, path));
  if (typeof value === 'number') {
    if (schema.minimum !== undefined && value < schema.minimum) say(`at least ${schema.minimum}`);
    if (schema.maximum !== undefined && value > schema.maximum) say(`at most ${schema.maximum}`);
  }
  if (Array.isArray(value) && schema.items !== undefined) {
    const { items } = schema;
    value.forEach((item, i) =>
      problems.push(...schemaProblems(items, item, schemas, `${path}[${i}]`)),
    );
  } else if (isObject(value)) {
    problems.push(...objectProblems(schema, value, schemas, path));
  }
  for (const part of schema.allOf ?? [])
    problems.push(...schemaProblems(part, value, schemas, path));
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined)
    problems.push(...choiceProblems(schema, choices, value, schemas, path));
  return problems;
}

/** Keywords of a schema and those inside it that {@link schemaProblems} would pass over in silence. */
export function unknownKeywords(schema: Schema): string[] {
  const inner = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(typeof schema.additionalProperties === 'object' ? [schema.additionalProperties] : []),
    ...[schema.allOf, schema.anyOf, schema.oneOf].flatMap((schemas) => schemas ?? []),
  ];
  const unknown = Object.keys(schema).filter((keyword) => !KNOWN.has(keyword));
  // A schema for further properties would be one keyword with two meanings; our document has none.
  if (typeof schema.additionalProperties === 'object') unknown.push('additionalProperties');
  return [...unknown, ...inner.flatMap(unknownKeywords)];
}

function named(reference: string, schemas: Schemas): Schema {
  const schema = schemas[reference.replace('#/components/schemas/', '')];
  if (schema === undefined) throw new Error(`${reference} does not exist`);
  return schema;
}

function textProblems(schema: Schema, value: string, path: string): Deviation[] {
  // Characters are code points, as in JSON Schema.
  const { length } = Array.from(value);
  const expected = [
    schema.minLength !== undefined && length < schema.minLength
      ? `at least ${schema.minLength} characters`
      : undefined,
    schema.maxLength !== undefined && length > schema.maxLength
      ? `at most ${schema.maxLength} characters`
      : undefined,
    schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value)
      ? `a match of ${schema.pattern}`
      : undefined,
    schema.format === 'date-time' && !(DATE_TIME.test(value) && Number.isFinite(Date.parse(value)))
      ? 'a date-time with an offset'
      : undefined,
  ];
  return expected
    .filter((text) => text !== undefined)
    .map((text) => ({ aspect: path, expected: text, came: worded(value) }));
}

function objectProblems(
  schema: Schema,
  value: Record<string, unknown>,
  schemas: Schemas,
  path: string,
): Deviation[] {
  const problems: Deviation[] = [];
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) {
      problems.push({ aspect: `${path}.${name}`, expected: 'a required property', came: 'none' });
    }
  }
  const closed = schema.properties !== undefined && schema.additionalProperties !== true;
  for (const [name, held] of Object.entries(value)) {
    const property = Object.hasOwn(schema.properties ?? {}, name)
      ? schema.properties?.[name]
      : undefined;
    if (property !== undefined) {
      problems.push(...schemaProblems(property, held, schemas, `${path}.${name}`));
    } else if (closed) {
      const shown = /^[a-z_]{1,40}$/.test(name) ? name : 'another one';
      problems.push({
        aspect: `${path}.<undeclared>`,
        expected: 'no property beside those declared',
        came: shown,
      });
    }
  }
  return problems;
}

/** The problems of the branch meant: the one the discriminator names, else the one that fits best. */
function choiceProblems(
  schema: Schema,
  choices: readonly Schema[],
  value: unknown,
  schemas: Schemas,
  path: string,
): Deviation[] {
  const name = schema.discriminator?.propertyName;
  const chosen = name !== undefined && isObject(value) ? String(value[name]) : undefined;
  const reference = chosen === undefined ? undefined : schema.discriminator?.mapping?.[chosen];
  if (reference !== undefined) return schemaProblems({ $ref: reference }, value, schemas, path);
  const tried = choices.map((choice) => schemaProblems(choice, value, schemas, path));
  const [best = []] = tried.toSorted((a, b) => a.length - b.length || deepest(b) - deepest(a));
  return best;
}

/** Where two branches have equally many problems, the one whose problems lie deeper was meant. */
function deepest(problems: readonly Deviation[]): number {
  return Math.max(0, ...problems.map(({ aspect }) => aspect.length));
}

function isType(value: unknown, type: NonNullable<Schema['type']>): boolean {
  switch (type) {
    case 'integer':
      return Number.isSafeInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      return type satisfies never;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const article = (type: string): string => `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`;

/** A value by its kind. Only single words are shown: they are states and codes, and hold no data. */
export function worded(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') {
    return /^[A-Za-z_]{1,40}$/.test(value) ? value : `a text of ${value.length} characters`;
  }
  if (typeof value === 'number')
    return Number.isInteger(value) ? 'an integer' : 'a number that is no integer';
  return Array.isArray(value) ? 'an array' : 'an object';
}
