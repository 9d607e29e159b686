import { z } from 'zod';
import type { Role } from '../../routers/procedure.ts';
import { listProcedures } from '../../routers/admin/procedure-list.ts';

/** What kind of text a flag takes. `json` is anything a flag's text can say as JSON. */
export type FieldKind = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | 'json';

/** One field of a procedure's input as a flag. */
export interface Field {
  /** Path in the input: `site_code`, `filter.site_code`. */
  readonly path: readonly string[];
  readonly kind: FieldKind;
  /** True for an object whose fields are flags of their own, too. */
  readonly parted: boolean;
  /** Of an array's elements. */
  readonly itemKind: FieldKind;
  readonly choices: readonly string[];
  readonly required: boolean;
  readonly description: string;
  readonly fallback: string | undefined;
  /** What a value looks like: an example, or the bounds of a number; '' where the type says it all. */
  readonly looksLike: string;
}

/** One procedure as a command. */
export interface Command {
  readonly router: string;
  readonly procedure: string;
  /** Path on the wire: `sites.create`. */
  readonly path: string;
  readonly type: 'query' | 'mutation';
  /** The lowest role that may call it. */
  readonly role: Role | undefined;
  readonly description: string;
  readonly fields: readonly Field[];
}

/** The parts of JSON Schema that zod produces for our inputs. */
interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly example?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  /** Ours: a document that comes as a whole, whose fields are no flags. */
  readonly document?: boolean;
}

/** Every procedure as a command, so that one added tomorrow is reachable without a change here. */
export function adminCommands(): Command[] {
  return listProcedures().map(({ path, type, role, input }) => {
    const dot = path.indexOf('.');
    const schema = schemaOf(input);
    return {
      router: path.slice(0, dot),
      procedure: path.slice(dot + 1),
      path,
      type,
      role,
      description: schema.description ?? '',
      fields: fieldsOf(schema, [], true),
    };
  });
}

function schemaOf(input: z.ZodType | undefined): JsonSchema {
  if (input === undefined) return {};
  return z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
}

/** A nested object is a flag that takes JSON, and each of its fields is a dotted flag, never required by itself. */
function fieldsOf(schema: JsonSchema, parents: readonly string[], outermost: boolean): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const path = [...parents, name];
    const kind = kindOf(property);
    const parted =
      kind === 'object' && property.properties !== undefined && property.document !== true;
    const field: Field = {
      path,
      kind,
      parted,
      itemKind: property.items === undefined ? 'json' : kindOf(property.items),
      choices: (property.enum ?? property.items?.enum ?? []).map(String),
      required: outermost && schema.required?.includes(name) === true,
      description: property.description ?? '',
      fallback: property.default === undefined ? undefined : JSON.stringify(property.default),
      looksLike: looksLike(property.items ?? property),
    };
    return parted ? [field, ...fieldsOf(property, path, false)] : [field];
  });
}

function looksLike({ example, minimum, maximum }: JsonSchema): string {
  if (typeof example === 'string') return `such as ${example}`;
  const bounds = [
    minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? '' : `from ${minimum}`,
    maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? '' : `to ${maximum}`,
  ];
  return bounds.filter((bound) => bound !== '').join(' ');
}

const KINDS = new Set<string>(['string', 'integer', 'number', 'boolean', 'array', 'object']);

const kindOf = (schema: JsonSchema): FieldKind =>
  KINDS.has(schema.type ?? '') ? (schema.type as FieldKind) : 'json';

/** How a field is written as a flag: `--site-code`, `--filter.site-code`. */
export const flagOf = (field: Field): string => `--${field.path.join('.').replaceAll('_', '-')}`;
