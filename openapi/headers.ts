import { z } from 'zod';
import { IdempotencyKey } from '../contract/primitives.ts';
import type { Header, Parameter, Reference } from './document-types.ts';

/** Name of the security scheme: the API key of a Site credential. */
export const API_KEY_SCHEME = 'ApiKey';

/** `components.securitySchemes` of the document (contract, section 5). */
export const SECURITY_SCHEMES = {
  [API_KEY_SCHEME]: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description:
      'The API key of one Site credential. It alone decides which Site is calling; a Site code is never sent in a URL or body. ' +
      'Production keys begin with `trk_prod_`, sandbox keys with `trk_sbx_`.',
  },
} as const;

/** `components.parameters`: request headers beside the API key. */
export const HEADER_PARAMETERS: Record<'IdempotencyKey', Parameter> = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: true,
    description:
      'Names this call. Repeat it unchanged when the answer was lost: the first answer comes again and nothing is done twice. ' +
      'The same key with another body is refused. Keys belong to your Site and the operation, and do not expire.',
    schema: {
      type: 'string',
      minLength: 8,
      maxLength: 128,
      pattern: patternOf(IdempotencyKey),
      example: 'order-20260301-000017',
    },
  },
};

/** Request headers of an operation with a body. */
export const WRITE_PARAMETERS: readonly Reference[] = [
  { $ref: '#/components/parameters/IdempotencyKey' },
];

const RATE_LIMIT = {
  description:
    'How many more requests the rate limit admits now (`r`), and after how many seconds the next one is admitted when that is 0 (`t`).',
  schema: {
    type: 'string',
    pattern: '^"credential";r=[0-9]+;t=[0-9]+$',
    example: '"credential";r=118;t=0',
  },
} as const;

const RATE_LIMIT_POLICY = {
  description: 'The rate limit: requests (`q`) in any rolling window of `w` seconds.',
  schema: {
    type: 'string',
    pattern: '^"credential";q=[0-9]+;w=[0-9]+$',
    example: '"credential";q=120;w=60',
  },
} as const;

/**
 * `components.headers`. The RateLimit headers are on every answer of a request that was counted; a status that may
 * also be answered before the counting refers to the optional twins.
 */
export const RESPONSE_HEADERS = {
  RequestId: {
    description: 'Id of this request, equal to request_id of the body. Quote it to support.',
    required: true,
    schema: { type: 'string', example: 'req_3f9a1c0e7b5d4e2a8c6f0b1d2e3a4c5d' },
  },
  RateLimit: { ...RATE_LIMIT, required: true },
  RateLimitPolicy: { ...RATE_LIMIT_POLICY, required: true },
  RateLimitWhenCounted: { ...RATE_LIMIT, required: false },
  RateLimitPolicyWhenCounted: { ...RATE_LIMIT_POLICY, required: false },
  RetryAfter: {
    description: 'Whole seconds after which the same call can succeed.',
    required: true,
    schema: { type: 'integer', minimum: 1, example: 12 },
  },
  IdempotentReplayed: {
    description: 'Present where this answer repeats an earlier acceptance.',
    required: false,
    schema: { type: 'string', enum: ['true'], example: 'true' },
  },
} satisfies Record<string, Header>;

/** Key of a header in `components.headers`. */
export type HeaderName = keyof typeof RESPONSE_HEADERS;

/** Names on the wire. */
const WIRE_NAMES: Record<HeaderName, string> = {
  RequestId: 'x-request-id',
  RateLimit: 'RateLimit',
  RateLimitPolicy: 'RateLimit-Policy',
  RateLimitWhenCounted: 'RateLimit',
  RateLimitPolicyWhenCounted: 'RateLimit-Policy',
  RetryAfter: 'Retry-After',
  IdempotentReplayed: 'idempotent-replayed',
};

/** The `headers` of a response: x-request-id and those named. */
export function responseHeaders(names: readonly HeaderName[]): Record<string, Reference> {
  const headers: Record<string, Reference> = {};
  for (const name of ['RequestId' as const, ...names]) {
    headers[WIRE_NAMES[name]] = { $ref: `#/components/headers/${name}` };
  }
  return headers;
}

/** The pattern a zod string checks, so that the document repeats no rule of the contract. */
function patternOf(schema: z.ZodString): string {
  const { pattern } = z.toJSONSchema(schema);
  if (pattern === undefined) throw new Error('IdempotencyKey has no pattern');
  return pattern;
}
