import type { ApiDocument, Parameter, Schema } from '../document-types.ts';
import { markup, type Markup } from './markup.ts';
import { identifier, inline } from './prose.ts';
import { nameOf, resolve } from './resolve.ts';

/**
 * An object schema as a table; objects inside it are tables of their own in the row below, open at first. Alternatives
 * (oneOf) stand one after the other.
 */
export function schemaTable(document: ApiDocument, reference: Schema): Markup {
  const schema = resolve<Schema>(document, reference);
  if (schema.oneOf !== undefined) {
    return markup`${schema.oneOf.map((alternative) => {
      const { description = '' } = resolve<Schema>(document, alternative);
      return markup`<p class="alternative">${description}</p>${schemaTable(document, alternative)}`;
    })}`;
  }
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    fieldRows(document, name, field, schema.required?.includes(name) === true),
  );
  return markup`<table class="fields">
<thead><tr><th scope="col">Field</th><th scope="col">Meaning</th></tr></thead>
<tbody>${rows}</tbody></table>${closing(schema)}`;
}

function closing(schema: Schema): Markup | undefined {
  if (schema.additionalProperties === false) return markup`<p class="note">No other fields.</p>`;
  if (schema.additionalProperties === true)
    return markup`<p class="note">Other fields are allowed.</p>`;
  return undefined;
}

function fieldRows(document: ApiDocument, name: string, field: Schema, required: boolean): Markup {
  const inner = objectBehind(document, field);
  const meaning = field.description ?? resolve<Schema>(document, field).description ?? '';
  const row = namedRow(
    name,
    markup`${typeWords(document, field)}${required ? '' : ', optional'}`,
    markup`${inline(meaning)}${constraints(field)}`,
  );
  if (inner === undefined) return row;
  return markup`${row}
<tr class="inner"><td colspan="2"><details open><summary>Fields of <code>${name}</code></summary>
${schemaTable(document, inner)}</details></td></tr>`;
}

/** A row that begins with a name and, below it in small, what kind of thing it is. */
function namedRow(name: string, kind: Markup, meaning: Markup): Markup {
  return markup`
<tr><th scope="row">${identifier(name)}<span class="kind">${kind}</span></th><td>${meaning}</td></tr>`;
}

/** The parameters of an operation, in the form of a schema's fields. */
export function parameterTable(document: ApiDocument, parameters: readonly Parameter[]): Markup {
  return markup`<table class="fields">
<thead><tr><th scope="col">Name</th><th scope="col">Meaning</th></tr></thead>
<tbody>${parameters.map(({ name, in: place, description = '', schema }) =>
    namedRow(
      name,
      markup`${typeWords(document, schema)}, in the ${place}`,
      markup`${inline(description)}${constraints(schema)}`,
    ),
  )}</tbody></table>`;
}

/** The object that deserves a table of its own: one with declared fields, also behind a reference or beside null. */
function objectBehind(document: ApiDocument, field: Schema): Schema | undefined {
  const candidates = [field, ...(field.allOf ?? []), ...(field.anyOf ?? [])];
  return candidates.find(
    (candidate) => resolve<Schema>(document, candidate).properties !== undefined,
  );
}

function typeWords(document: ApiDocument, field: Schema): Markup {
  const [first] = field.allOf ?? field.anyOf ?? [];
  const named = nameOf(field) ?? (first === undefined ? undefined : nameOf(first));
  const orNull = field.nullable === true || field.anyOf?.some(({ nullable }) => nullable === true);
  const words = named ?? plainType(document, resolve<Schema>(document, field));
  return markup`${words}${orNull === true ? ' or null' : ''}`;
}

function plainType(document: ApiDocument, { type, format, items }: Schema): string {
  if (type === 'array') return `list of ${plainType(document, resolve(document, items ?? {}))}s`;
  if (format !== undefined) return format;
  return type ?? 'any';
}

const SAFE = Number.MAX_SAFE_INTEGER;

function constraints(field: Schema): Markup | undefined {
  const { enum: values, pattern } = field;
  if (values !== undefined) {
    const words = values.length === 1 ? 'Only ' : 'One of ';
    return markup`<span class="rule">${words}${values.map(
      (value, index) => markup`${index === 0 ? '' : ', '}<code>${String(value)}</code>`,
    )}</span>`;
  }
  const bounds = boundWords(field);
  if (bounds === undefined && pattern === undefined) return undefined;
  return markup`<span class="rule">${bounds}${bounds === undefined || pattern === undefined ? '' : '; '}${
    pattern === undefined ? undefined : markup`pattern <code>${pattern}</code>`
  }</span>`;
}

function boundWords({ minLength, maxLength, minimum, maximum }: Schema): string | undefined {
  if (maxLength !== undefined) return `${minLength ?? 0} to ${maxLength} characters`;
  if (minLength !== undefined)
    return minLength === 1 ? 'not empty' : `at least ${minLength} characters`;
  if (maximum !== undefined && maximum !== SAFE) return `${minimum ?? 'up'} to ${maximum}`;
  if (minimum !== undefined) return `${minimum} or more`;
  return undefined;
}
