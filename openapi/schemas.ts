import { z } from 'zod';
import { ErrorResponse } from '../contract/error-response.ts';
import {
  AcceptedIngestion,
  IngestionStatus,
  SandboxSimulation,
  TransactionRiskStatus,
} from '../contract/ingestion.ts';
import { OutcomeLabelAccepted, OutcomeLabelRequest } from '../contract/outcome.ts';
import { Risk } from '../contract/risk.ts';
import {
  CanonicalTransaction,
  PaymentMethodContext,
  TransactionEvent,
} from '../contract/transaction.ts';
import {
  ApiUsageSummary,
  ProductionQuota,
  ProductionUsage,
  SandboxUsage,
} from '../contract/usage.ts';
import {
  OutcomeRecordedWebhook,
  TransactionEvaluatedWebhook,
  TransactionEvaluationFailedWebhook,
  WebhookChallenge,
} from '../contract/webhook.ts';
import type { Schema } from './document-types.ts';
import { FIELD_DESCRIPTIONS, SCHEMA_DESCRIPTIONS } from './field-descriptions.ts';

/** The named schemas of the document, in the order in which a reader meets them. */
export const NAMED_SCHEMAS = {
  TransactionEvent,
  CanonicalTransaction,
  PaymentMethodContext,
  AcceptedIngestion,
  SandboxSimulation,
  IngestionStatus,
  TransactionRiskStatus,
  Risk,
  OutcomeLabelRequest,
  OutcomeLabelAccepted,
  ApiUsageSummary,
  SandboxUsage,
  ProductionUsage,
  ProductionQuota,
  ErrorResponse,
  WebhookChallenge,
  TransactionEvaluatedWebhook,
  TransactionEvaluationFailedWebhook,
  OutcomeRecordedWebhook,
} satisfies Record<string, z.ZodType>;

/** Those that the generator does not meet by itself: it copies request bodies, and knows nothing of our error body. */
export const UNREFERENCED_SCHEMAS = { TransactionEvent, OutcomeLabelRequest, ErrorResponse };

/** Pointer to a named schema. */
export const refTo = (name: string): string => `#/components/schemas/${name}`;

/**
 * Turns the generated components into what OpenAPI 3.0.3 and the contract mean.
 *
 * @throws Error where a schema is missing or not listed, or a description names no field
 */
export function finishSchemas(generated: Readonly<Record<string, Schema>>): Record<string, Schema> {
  const finished: Record<string, Schema> = {};
  const used = new Set<string>();
  for (const [name, zod] of Object.entries(NAMED_SCHEMAS)) {
    const schema = generated[name];
    if (schema === undefined) throw new Error(`the generator left out ${name}`);
    finished[name] = describe(name, toOpenApi30(openWhereNotStrict(schema, zod)), used);
  }
  for (const name of Object.keys(generated)) {
    // The generator's own error bodies are replaced by ErrorResponse.
    if (!(name in finished) && !name.startsWith('error.')) {
      throw new Error(`schemas.ts: ${name} is not listed`);
    }
  }
  for (const key of Object.keys(FIELD_DESCRIPTIONS)) {
    if (!used.has(key)) throw new Error(`field-descriptions.ts: ${key} describes nothing`);
  }
  return finished;
}

/**
 * The generator closes every object of an answer, because zod drops what it does not know. The contract forbids
 * undeclared properties only where the schema is strict; elsewhere a client must be ready for more.
 */
function openWhereNotStrict(schema: Schema, zod: z.ZodType): Schema {
  const open = zod instanceof z.ZodObject && zod.def.catchall === undefined;
  if (!open) return schema;
  const { additionalProperties: _closed, ...rest } = schema;
  return rest;
}

/**
 * Rewrites what version 3.0 reads differently, at every level:
 *
 * - `nullable` counts only beside a `type`, and never reaches through `allOf` into a reference (3.0.3, section 4.7.24.1):
 *   null becomes an alternative of its own;
 * - an `allOf` around one reference, with nothing beside it, is the reference;
 * - an empty `properties`, and `{}` for "any", say nothing that `true` does not say better.
 */
export function toOpenApi30(schema: Schema): Schema {
  const { properties, items, allOf, anyOf, oneOf, additionalProperties, nullable, ...rest } =
    schema;
  const result: Schema = { ...rest };
  if (properties !== undefined && Object.keys(properties).length > 0) {
    result.properties = mapValues(properties, toOpenApi30);
  }
  if (items !== undefined) result.items = toOpenApi30(items);
  if (anyOf !== undefined) result.anyOf = anyOf.map(toOpenApi30);
  if (oneOf !== undefined) result.oneOf = oneOf.map(toOpenApi30);
  if (additionalProperties !== undefined) {
    result.additionalProperties = isAny(additionalProperties) ? true : additionalProperties;
  }
  if (nullable === true && allOf !== undefined) {
    result.anyOf = [...allOf.map(toOpenApi30), { type: 'object', nullable: true, enum: [null] }];
  } else {
    if (nullable !== undefined) result.nullable = nullable;
    const [only] = allOf ?? [];
    if (allOf?.length === 1 && only?.$ref !== undefined && Object.keys(result).length === 0)
      return only;
    if (allOf !== undefined) result.allOf = allOf.map(toOpenApi30);
  }
  return result;
}

const isAny = (schema: boolean | Schema): boolean =>
  typeof schema === 'object' && Object.keys(schema).length === 0;

function describe(path: string, schema: Schema, used: Set<string>): Schema {
  const description = schema.description ?? SCHEMA_DESCRIPTIONS[path];
  const described = describeFields(path, schema, used);
  return description === undefined ? described : { ...described, description };
}

function describeFields(path: string, schema: Schema, used: Set<string>): Schema {
  if (schema.properties === undefined) return schema;
  const properties: Record<string, Schema> = {};
  for (const [name, field] of Object.entries(schema.properties)) {
    const own = `${path}.${name}`;
    const key = own in FIELD_DESCRIPTIONS ? own : name;
    const description = FIELD_DESCRIPTIONS[key];
    properties[name] = describeFields(own, field, used);
    if (description === undefined) continue;
    if (field.description !== undefined) {
      if (key === own) throw new Error(`field-descriptions.ts: ${own} is described by its schema`);
      continue;
    }
    used.add(key);
    // Beside a reference nothing else counts in version 3.0.
    properties[name] =
      field.$ref === undefined
        ? { ...properties[name], description }
        : { allOf: [{ $ref: field.$ref }], description };
  }
  return { ...schema, properties };
}

function mapValues<T>(
  record: Readonly<Record<string, T>>,
  map: (value: T) => T,
): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
