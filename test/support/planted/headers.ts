import { randomUUID } from 'node:crypto';
import { always, inAnswer, isUsage, type PlantedTable } from './planted.ts';

/** Headers that lack, repeat or say something else. */
export const IN_HEADERS: PlantedTable = {
  'strips x-request-id': {
    parts: ['acceptance'],
    case: /^submitTransaction: a valid event/,
    aspect: 'header x-request-id',
    answer: ({ headers }) => delete headers['x-request-id'],
  },
  'strips x-request-id from refusals': {
    parts: ['requests'],
    case: /^DELETE \/v1\/usage: /,
    aspect: 'header x-request-id',
    answer: inAnswer(always, 405, ({ headers }) => delete headers['x-request-id']),
  },
  'makes a request id of its own': {
    parts: ['acceptance'],
    case: /^submitTransaction: a valid event/,
    aspect: 'body.request_id',
    answer: ({ headers }) => (headers['x-request-id'] = `gw_${randomUUID()}`),
  },
  'sends two request ids': {
    parts: ['acceptance'],
    case: /^getApiUsage: /,
    aspect: 'header x-request-id',
    answer: ({ headers }) => {
      headers['x-request-id'] = [String(headers['x-request-id']), 'gw_1'];
    },
  },
  'gives every answer the same request id': {
    parts: ['acceptance'],
    case: /^submitTransaction: /,
    aspect: 'header x-request-id',
    answer: ({ headers, body }) => {
      headers['x-request-id'] = 'req_1';
      if (body?.request_id !== undefined) body.request_id = 'req_1';
    },
  },
  "takes over the caller's request id": {
    parts: ['acceptance'],
    case: /a caller's own x-request-id/,
    aspect: 'header x-request-id',
    answer: ({ headers }, sent) => {
      const own = sent.headers['x-request-id'];
      if (own !== undefined) headers['x-request-id'] = own;
    },
  },
  'changes the content type': {
    parts: ['acceptance'],
    case: /^submitTransaction: a valid event/,
    aspect: 'header content-type',
    answer: ({ headers }) => (headers['content-type'] = 'text/html'),
  },
  'sends no content type': {
    parts: ['credentials'],
    case: /a missing key/,
    aspect: 'header content-type',
    answer: ({ headers }) => delete headers['content-type'],
  },
  'drops Retry-After': {
    parts: ['rate limit'],
    case: /^getApiUsage: more than 120/,
    aspect: 'header Retry-After',
    answer: inAnswer(always, 429, ({ headers }) => delete headers['retry-after']),
  },
  'gives Retry-After as a date': {
    parts: ['rate limit'],
    case: /^getApiUsage: more than 120/,
    aspect: 'header Retry-After',
    answer: inAnswer(
      always,
      429,
      ({ headers }) => (headers['retry-after'] = new Date().toUTCString()),
    ),
  },
  'gives a Retry-After of 0': {
    parts: ['rate limit'],
    case: /^getApiUsage: more than 120/,
    aspect: 'header Retry-After',
    answer: inAnswer(always, 429, ({ headers }) => (headers['retry-after'] = '0')),
  },
  'limits nothing': {
    parts: ['rate limit'],
    case: /^getApiUsage: more than 120/,
    aspect: 'status',
    answer: inAnswer(isUsage, 429, (returned) => {
      returned.status = 200;
      delete returned.headers['retry-after'];
      returned.body = { environment: 'sandbox', persistence: 'NONE', quota: null };
    }),
  },
  'calls the rate limit a quota': {
    parts: ['rate limit'],
    case: /^getApiUsage: more than 120/,
    aspect: 'error.code',
    answer: inAnswer(always, 429, ({ body }) => (body.error.code = 'API_QUOTA_EXCEEDED')),
  },
  'drops the RateLimit headers': {
    parts: ['acceptance'],
    case: /^submitTransaction: /,
    aspect: 'header RateLimit',
    answer: ({ headers }) => delete headers['ratelimit'],
  },
  'drops the RateLimit headers of refusals': {
    parts: ['fields'],
    case: /schema_version is left out/,
    aspect: 'header RateLimit-Policy',
    answer: inAnswer(always, 400, ({ headers }) => delete headers['ratelimit-policy']),
  },
  'has a policy of its own': {
    parts: ['acceptance'],
    case: /^getApiUsage: the sandbox/,
    aspect: 'header RateLimit-Policy',
    answer: ({ headers }) => (headers['ratelimit-policy'] = '"credential";q=60;w=60'),
  },
  'drops Allow': {
    parts: ['requests'],
    case: /^DELETE \/v1\/usage: /,
    aspect: 'header Allow',
    answer: inAnswer(always, 405, ({ headers }) => delete headers['allow']),
  },
  'marks no repeats': {
    parts: ['production'],
    case: /^submitTransaction: the same call again/,
    aspect: 'header idempotent-replayed',
    answer: ({ headers }) => delete headers['idempotent-replayed'],
  },
};
