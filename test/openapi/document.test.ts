import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { z } from 'zod';
import { ERRORS, type ErrorCode } from '../../contract/errors.ts';
import { findForbidden } from '../../contract/forbidden-data.ts';
import { findJsonProblem } from '../../contract/json-limits.ts';
import { crossFieldProblems } from '../../contract/transaction-rules.ts';
import { TransactionEvent } from '../../contract/transaction.ts';
import type {
  ApiDocument,
  Header,
  MediaType,
  Parameter,
  Reference,
} from '../../openapi/document-types.ts';
import { buildDocument } from '../../openapi/document.ts';
import { resolve } from '../../openapi/docs/resolve.ts';
import { formatDocument } from '../../openapi/format-document.ts';
import { operationsOf } from '../../openapi/operations.ts';
import { SubscribedEventType } from '../../contract/webhook.ts';
import { NAMED_SCHEMAS } from '../../openapi/schemas.ts';
import { v1Router } from '../../routers/v1/router.ts';
import { rateLimitHeaders } from '../../server/rate-limiter.ts';

/** The contract's tables (section 4) and what every request may meet: rights, the HTTP parser, the unforeseen. */
const STATUSES: Record<string, number[]> = {
  submitTransaction: [200, 202, 400, 401, 403, 408, 409, 417, 429, 431, 500, 503],
  getIngestion: [200, 400, 401, 403, 404, 408, 417, 429, 431, 500, 503],
  getTransactionRisk: [200, 400, 401, 403, 404, 408, 417, 429, 431, 500, 503],
  appendTransactionOutcome: [202, 400, 401, 403, 404, 408, 409, 417, 429, 431, 500, 503],
  getApiUsage: [200, 400, 401, 408, 417, 429, 431, 500, 503],
};

const SUCCESS_SCHEMAS: Record<string, Record<string, string>> = {
  submitTransaction: { 200: 'SandboxSimulation', 202: 'AcceptedIngestion' },
  getIngestion: { 200: 'IngestionStatus' },
  getTransactionRisk: { 200: 'TransactionRiskStatus' },
  appendTransactionOutcome: { 202: 'OutcomeLabelAccepted' },
  getApiUsage: { 200: 'ApiUsageSummary' },
};

const CLOSED = [
  'ApiUsageSummary (production)',
  'CanonicalTransaction',
  'ErrorResponse',
  'ErrorResponse.error',
  'OutcomeLabelAccepted',
  'OutcomeLabelRequest',
  'ProductionQuota',
  'TransactionEvent',
  'TransactionRiskStatus',
];

describe('the published description', () => {
  const document = buildDocument();
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );

  it('is the committed file: run `npm run openapi` after a change', () => {
    const file = readFileSync(new URL('../../openapi/openapi.json', import.meta.url), 'utf8');
    expect(file === formatDocument(document), 'openapi/openapi.json is current').to.equal(true);
  });

  it('has exactly the operations that the adapter serves', () => {
    const served = operationsOf(v1Router).map(
      ({ operationId, method, path }) => `${operationId} ${method} ${path.template}`,
    );
    const described = operations.map(
      ({ operationId, method, path }) => `${operationId} ${method.toUpperCase()} ${path}`,
    );
    expect(described).to.have.members(served);
    expect(operations.map(({ operationId }) => operationId)).to.have.members(Object.keys(STATUSES));
  });

  it('declares every status of every operation with a description of its own', () => {
    for (const { operationId, responses } of operations) {
      expect(Object.keys(responses).map(Number), operationId).to.deep.equal(STATUSES[operationId]);
      const descriptions = Object.values(responses).map(({ description }) => description);
      expect(new Set(descriptions).size, operationId).to.equal(descriptions.length);
    }
  });

  it('answers success with the named body, and every refusal with ErrorResponse and a code of its status', () => {
    for (const { operationId, responses } of operations) {
      for (const [status, { content, description }] of Object.entries(responses)) {
        const { schema, examples = {} } = json(content);
        const success = SUCCESS_SCHEMAS[operationId]?.[status];
        expect(schema).to.deep.equal({
          $ref: `#/components/schemas/${success ?? 'ErrorResponse'}`,
        });
        if (success !== undefined) continue;
        for (const code of Object.keys(examples)) {
          expect(ERRORS[code as ErrorCode].status, code).to.equal(Number(status));
          expect(description).to.include(`\`${code}\``);
        }
      }
    }
  });

  it('demands x-request-id everywhere, Retry-After on 429 and 503, and the rate limit on every success', () => {
    for (const { responses } of operations) {
      for (const [status, { headers }] of Object.entries(responses)) {
        const required = requiredHeaders(document, headers);
        expect(required).to.include('x-request-id');
        expect(required.includes('Retry-After')).to.equal(['429', '503'].includes(status));
        if (status.startsWith('2'))
          expect(required).to.include.members(['RateLimit', 'RateLimit-Policy']);
      }
    }
  });

  it('describes the RateLimit headers as they are sent', () => {
    const sent = rateLimitHeaders({ admitted: false, remaining: 0, resetSeconds: 17 });
    const { RateLimit, RateLimitPolicy } = document.components.headers;
    expect(sent['RateLimit']).to.match(new RegExp(RateLimit?.schema.pattern ?? '$.'));
    expect(sent['RateLimit-Policy']).to.equal(RateLimitPolicy?.schema.example);
  });

  it('demands the API key everywhere and a bounded Idempotency-Key on both writes', () => {
    for (const { operationId, method, security, parameters } of operations) {
      expect(security, operationId).to.deep.equal([{ ApiKey: [] }]);
      const headers = parameters
        .map((parameter) => resolve<Parameter>(document, parameter))
        .filter((parameter) => parameter.in === 'header');
      expect(headers.map(({ name }) => name)).to.deep.equal(
        method === 'post' ? ['Idempotency-Key'] : [],
      );
    }
    const { required, schema } = document.components.parameters['IdempotencyKey'] ?? { schema: {} };
    expect(required).to.equal(true);
    expect(schema).to.include({
      minLength: 8,
      maxLength: 128,
      pattern: '^[A-Za-z0-9._:-]{8,128}$',
    });
  });

  it('takes the bodies of the contract, by name', () => {
    const bodies = operations.flatMap(({ requestBody }) =>
      requestBody === undefined ? [] : [json(requestBody.content).schema.$ref],
    );
    expect(bodies).to.have.members([
      '#/components/schemas/TransactionEvent',
      '#/components/schemas/OutcomeLabelRequest',
    ]);
  });

  it('forbids undeclared properties exactly where the contract does', () => {
    const closed = objectsIn(document.components.schemas)
      .filter(({ schema }) => schema['additionalProperties'] === false)
      .map(({ path }) => path);
    const names = closed
      .filter((path) => path !== 'SandboxUsage')
      .map((path) =>
        path.replace('.properties', '').replace('ProductionUsage', 'ApiUsageSummary (production)'),
      );
    expect(closed).to.include('SandboxUsage');
    expect(names.toSorted()).to.deep.equal(CLOSED);
  });

  it('uses nothing that OpenAPI 3.0.3 does not know', () => {
    expect(document.openapi).to.equal('3.0.3');
    for (const { path, schema } of objectsIn(document.components.schemas)) {
      expect(schema, path).to.not.have.any.keys(
        'const',
        '$schema',
        'prefixItems',
        '$defs',
        'examples',
      );
      if (schema['type'] !== undefined) expect(schema['type'], path).to.be.a('string');
      if (schema['nullable'] === true) expect(schema['type'], path).to.be.a('string');
      if (schema['$ref'] !== undefined) expect(Object.keys(schema), path).to.deep.equal(['$ref']);
    }
  });

  it('has no reference that leads nowhere and no component that nobody refers to', () => {
    const used = new Set(referencesIn(document));
    for (const $ref of used) resolve(document, { $ref });
    const { securitySchemes: _named, ...components } = document.components;
    for (const [kind, entries] of Object.entries(components)) {
      for (const name of Object.keys(entries)) {
        expect(used.has(`#/components/${kind}/${name}`), `${kind}/${name}`).to.equal(true);
      }
    }
  });

  it('says what every field means', () => {
    for (const [name, { properties = {} }] of Object.entries(document.components.schemas)) {
      for (const [field, schema] of Object.entries(properties)) {
        expect(resolve(document, schema).description, `${name}.${field}`).to.be.a('string');
      }
    }
  });
});

describe('what the service sends', () => {
  it('is described for every type of event, with the headers of the contract', () => {
    const webhooks = buildDocument()['x-webhooks'];
    expect(Object.keys(webhooks)).to.deep.equal([
      'webhook.challenge',
      ...SubscribedEventType.options,
    ]);
    for (const [type, { post }] of Object.entries(webhooks)) {
      expect(
        post.parameters.map(({ name }) => name),
        type,
      ).to.deep.equal([
        'x-service-event-id',
        'x-service-timestamp',
        'x-service-signature',
        'x-service-signature-previous',
      ]);
    }
  });
});

describe('the examples of the description', () => {
  const document = buildDocument();
  const bodies = [
    ...Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .flatMap(({ requestBody, responses }) => [
        ...(requestBody === undefined ? [] : [json(requestBody.content)]),
        ...Object.values(responses).map(({ content }) => json(content)),
      ]),
    ...Object.values(document['x-webhooks']).map(({ post }) => json(post.requestBody.content)),
  ];

  it('satisfy the schemas that the service itself uses', () => {
    for (const { schema, examples = {} } of bodies) {
      const name = schema.$ref?.split('/').at(-1) as keyof typeof NAMED_SCHEMAS;
      expect(Object.keys(examples), name).to.not.have.length(0);
      for (const [key, { value }] of Object.entries(examples))
        expectValid(NAMED_SCHEMAS[name], value, key);
    }
    for (const [name, { example }] of Object.entries(document.components.schemas)) {
      if (example !== undefined)
        expectValid(NAMED_SCHEMAS[name as keyof typeof NAMED_SCHEMAS], example, name);
    }
  });

  it('are events that the service would accept', () => {
    const events = bodies
      .filter(({ schema }) => schema.$ref?.endsWith('/TransactionEvent'))
      .flatMap(({ examples = {} }) => Object.values(examples));
    expect(events).to.not.have.length(0);
    for (const { value } of events) {
      expect(findJsonProblem(value)).to.equal(undefined);
      expect(findForbidden(value)).to.deep.equal([]);
      expect(crossFieldProblems(TransactionEvent.parse(value))).to.deep.equal([]);
    }
  });
});

function json(content: Record<string, MediaType>): MediaType {
  const body = content['application/json'];
  if (body === undefined) throw new Error('no application/json');
  return body;
}

function requiredHeaders(document: ApiDocument, headers: Record<string, Reference>): string[] {
  return Object.entries(headers)
    .filter(([, reference]) => resolve<Header>(document, reference).required === true)
    .map(([name]) => name);
}

function expectValid(schema: z.ZodType, value: unknown, name: string): void {
  const { error } = schema.safeParse(value);
  expect(error?.issues, name).to.equal(undefined);
}

/** Every schema object below named schemas, with a readable path. */
function objectsIn(value: unknown, path = ''): { path: string; schema: Record<string, unknown> }[] {
  if (typeof value !== 'object' || value === null) return [];
  const schema = value as Record<string, unknown>;
  const below = Object.entries(schema)
    .filter(([key]) => key !== 'example' && key !== 'enum')
    .flatMap(([key, inner]) => objectsIn(inner, path === '' ? key : `${path}.${key}`));
  const isMap = path === '' || path.endsWith('.properties') || Array.isArray(value);
  return isMap ? below : [{ path, schema }, ...below];
}

function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner] : referencesIn(inner),
  );
}
