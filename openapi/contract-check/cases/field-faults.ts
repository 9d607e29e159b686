import type { Schema } from '../../document-types.ts';

/** One way to break a valid object against its schema. */
export interface FieldFault {
  readonly name: string;
  /** Path that the refusal must name. */
  readonly path: string;
  /** Property to set, by its place; undefined removes it. */
  readonly place: readonly string[];
  readonly value: unknown;
}

/**
 * Every way in which one value of an object can break its schema: left out, of another type (among them those that a
 * coercing gateway would accept), outside its bounds, no member of its enum, in another form, undeclared.
 */
export function fieldFaults(
  schema: Schema,
  schemas: Readonly<Record<string, Schema>>,
  place: readonly string[] = [],
): FieldFault[] {
  const faults: FieldFault[] = [];
  const add = (name: string, what: string, value: unknown): void => {
    const path = [...place, name].join('.');
    faults.push({ name: `${path} ${what}`, path, place: [...place, name], value });
  };
  for (const name of schema.required ?? []) add(name, 'is left out', undefined);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    for (const [what, value] of wrongValues(property)) add(name, what, value);
    const reference = property.$ref ?? property.allOf?.[0]?.$ref;
    const inner = reference === undefined ? undefined : schemas[reference.split('/').at(-1) ?? ''];
    if (inner !== undefined) faults.push(...fieldFaults(inner, schemas, [...place, name]));
  }
  if (schema.additionalProperties === false) {
    faults.push({
      name: `${[...place, 'a property'].join('.')} that is not declared`,
      path: [...place, '<undeclared>'].join('.'),
      place: [...place, 'contract_check'],
      value: 'x',
    });
  }
  return faults;
}

/** Values of another type, those that a coercing gateway would take among them. */
const WRONG_TYPES: Record<string, [what: string, value: unknown][]> = {
  integer: [
    ['is a text of digits', '12'],
    ['is null', null],
    ['has a fraction', 1.5],
  ],
  boolean: [
    ['is a text', 'false'],
    ['is a number', 0],
  ],
  string: [['is a number', 12]],
};

function wrongValues(schema: Schema): [what: string, value: unknown][] {
  const wrong: [string, unknown][] = [];
  wrong.push(...(WRONG_TYPES[schema.type ?? 'object'] ?? [['is an array', []]]));
  if (schema.enum !== undefined) wrong.push(['is no member of its enum', 'CONTRACT_CHECK']);
  if (schema.minLength !== undefined) wrong.push(['is too short', '']);
  if (schema.maxLength !== undefined) wrong.push(['is too long', 'x'.repeat(schema.maxLength + 1)]);
  if (schema.minimum !== undefined) wrong.push(['is below its minimum', schema.minimum - 1]);
  if (schema.maximum !== undefined) wrong.push(['is above its maximum', schema.maximum + 1]);
  if (schema.pattern !== undefined) wrong.push(['does not match its pattern', 'won']);
  if (schema.format === 'date-time') wrong.push(['has no offset', '2026-03-01T09:00:00']);
  return wrong;
}

/** A copy of an object with one place changed. */
export function changed(
  object: Record<string, unknown>,
  [name = '', ...rest]: readonly string[],
  value: unknown,
): Record<string, unknown> {
  const copy = { ...object };
  if (rest.length > 0) {
    copy[name] = changed(object[name] as Record<string, unknown>, rest, value);
  } else if (value === undefined) {
    delete copy[name];
  } else {
    copy[name] = value;
  }
  return copy;
}
