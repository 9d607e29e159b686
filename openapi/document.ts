import { isDeepStrictEqual } from 'node:util';
import { generateOpenApiDocument } from 'trpc-to-openapi';
import { v1Router } from '../routers/v1/router.ts';
import type { ApiDocument, ApiOperation, Parameter, Schema } from './document-types.ts';
import { EXAMPLES, type ExampleName } from './examples.ts';
import {
  HEADER_PARAMETERS,
  RESPONSE_HEADERS,
  SECURITY_SCHEMES,
  WRITE_PARAMETERS,
} from './headers.ts';
import { INFO, PARAMETER_DESCRIPTIONS, SERVERS, TAGS } from './info.ts';
import { OPERATION_NOTES, type OperationNotes } from './operation-notes.ts';
import { buildResponses } from './responses.ts';
import { WEBHOOK_PATHS, WEBHOOKS } from './webhooks.ts';
import { finishSchemas, refTo, toOpenApi30, UNREFERENCED_SCHEMAS } from './schemas.ts';

/** The parts of the generator's document that are read here. */
interface Generated {
  paths: Record<string, Record<string, GeneratedOperation>>;
  components: { schemas: Record<string, Schema> };
}

interface GeneratedOperation {
  operationId: string;
  summary: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content: Record<string, { schema: Schema }> }>;
}

/**
 * The public description of /v1 as OpenAPI 3.0.3: operations, inputs and schemas come from the procedures through
 * trpc-to-openapi; statuses, headers, refusals, examples and prose from the tables of this folder. Pure: the same code
 * gives the same document.
 *
 * @throws Error where procedures and tables disagree, saying which
 */
export function buildDocument(): ApiDocument {
  const generated = generateOpenApiDocument(v1Router, {
    title: INFO.title,
    version: INFO.version,
    openApiVersion: '3.0.3',
    baseUrl: '/',
    securitySchemes: SECURITY_SCHEMES,
    defs: UNREFERENCED_SCHEMAS,
    paths: WEBHOOK_PATHS,
  }) as unknown as Generated;
  const schemas = finishSchemas(generated.components.schemas);
  const paths: ApiDocument['paths'] = {};
  const left = new Set(Object.keys(OPERATION_NOTES));
  for (const [path, methods] of Object.entries(generated.paths)) {
    if (path in WEBHOOK_PATHS) continue;
    for (const [method, operation] of Object.entries(methods)) {
      left.delete(operation.operationId);
      (paths[path] ??= {})[method] = finishOperation(operation, generated.components.schemas);
    }
  }
  if (left.size > 0)
    throw new Error(`operation-notes.ts: no procedure for ${[...left].join(', ')}`);
  return {
    openapi: '3.0.3',
    info: INFO,
    servers: SERVERS,
    tags: TAGS,
    security: Object.keys(SECURITY_SCHEMES).map((name) => ({ [name]: [] })),
    paths,
    'x-webhooks': WEBHOOKS,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      parameters: HEADER_PARAMETERS,
      headers: RESPONSE_HEADERS,
      schemas,
    },
  };
}

function finishOperation(
  { operationId, summary, tags, security, parameters, requestBody, responses }: GeneratedOperation,
  schemas: Readonly<Record<string, Schema>>,
): ApiOperation {
  const notes = OPERATION_NOTES[operationId];
  if (notes === undefined) throw new Error(`operation-notes.ts: ${operationId} is missing`);
  agreeOnSuccess(operationId, notes, responses['200']?.content['application/json']?.schema);
  const bodySchema = requestBody?.content['application/json']?.schema;
  return {
    operationId,
    summary,
    description: notes.description,
    tags,
    security,
    parameters: [
      ...parameters.map(finishParameter),
      ...(bodySchema === undefined ? [] : WRITE_PARAMETERS),
    ],
    ...(bodySchema === undefined
      ? {}
      : { requestBody: finishBody(operationId, notes, bodySchema, schemas) }),
    responses: buildResponses(notes.successes, notes.refusals),
  };
}

function finishParameter({ name, in: place, required, schema }: Parameter): Parameter {
  const description = PARAMETER_DESCRIPTIONS[name];
  if (description === undefined)
    throw new Error(`info.ts: the parameter ${name} has no description`);
  return { name, in: place, required: required === true, description, schema: toOpenApi30(schema) };
}

/**
 * The generator copies the body into the operation, without the path parameters. The copy is a named schema again, which
 * is found by its shape: so the name cannot come to mean something else than the procedure takes.
 */
function finishBody(
  operationId: string,
  { body }: OperationNotes,
  copy: Schema,
  schemas: Readonly<Record<string, Schema>>,
): NonNullable<ApiOperation['requestBody']> {
  const name = Object.keys(schemas).find((name) => isSameShape(schemas[name] ?? {}, copy));
  if (name === undefined || body === undefined) {
    throw new Error(`${operationId}: the body is no named schema, or has no description`);
  }
  return {
    required: true,
    description: body,
    content: {
      'application/json': {
        schema: { $ref: refTo(name) },
        examples: EXAMPLES[name as ExampleName],
      },
    },
  };
}

function isSameShape(a: Schema, b: Schema): boolean {
  return isDeepStrictEqual(shapeOf(a), shapeOf(b));
}

function shapeOf({ description: _d, example: _e, title: _t, ...shape }: Schema): Schema {
  return shape;
}

/** The schemas that the tables promise must be those that the procedure's output declares. */
function agreeOnSuccess(
  operationId: string,
  notes: OperationNotes,
  output: Schema | undefined,
): void {
  const declared = (output?.anyOf ?? output?.oneOf ?? [output ?? {}]).map(({ $ref }) =>
    String($ref),
  );
  const promised = notes.successes.map(({ schema }) => refTo(schema));
  if (!isDeepStrictEqual(declared.toSorted(), promised.toSorted())) {
    throw new Error(
      `${operationId} answers ${declared.join(', ')}, operation-notes.ts says ${promised.join(', ')}`,
    );
  }
}
