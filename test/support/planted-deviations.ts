import { randomUUID } from 'node:crypto';
import type { Group } from '../../openapi/contract-check/cases/case.ts';
import type { Json } from '../../openapi/contract-check/events.ts';
import { bodyOf, rewrite, type Fault, type Returned, type Sent } from './broken-gateway.ts';

/** A fault, the parts of the check that must meet it, and what the report must say. */
export interface Planted extends Fault {
  readonly parts: readonly Group[];
  /** Operation and case, as the report names them. */
  readonly case: RegExp;
  readonly aspect: string;
}

const isSubmit = ({ path }: Sent): boolean => path === '/v1/transactions';
const isUsage = ({ path }: Sent): boolean => path === '/v1/usage';
const isIngestion = ({ path }: Sent): boolean => path.startsWith('/v1/ingestions/');
const isRisk = ({ path }: Sent): boolean => path.endsWith('/risk');
const isOutcome = ({ path }: Sent): boolean => path.endsWith('/outcomes');

/** A fault in the answers with one status to some requests. */
const inAnswer =
  (which: (sent: Sent) => boolean, status: number, change: (returned: Returned) => void) =>
  (returned: Returned, sent: Sent): void => {
    if (returned.status === status && which(sent)) change(returned);
  };

const always = (): boolean => true;

/** Events a lenient gateway repairs before it passes them on. */
const repaired = (change: (event: Json, transaction: Json) => void) => (sent: Sent) => {
  if (!isSubmit(sent)) return;
  rewrite(sent, (event) => {
    const { transaction } = event;
    if (typeof transaction === 'object' && transaction !== null) change(event, transaction as Json);
  });
};

let stored: { body: Json; id: string } | undefined;

/** Every planted deviation, by what the gateway does wrong. */
export const PLANTED: Readonly<Record<string, Planted>> = {
  // Bodies.
  'drops a required field of the acceptance': {
    parts: ['production'],
    case: /^submitTransaction: a valid event is accepted/,
    aspect: 'body.processing_state',
    answer: inAnswer(isSubmit, 202, ({ body }) => delete body.processing_state),
  },
  'drops a required field of the simulation': {
    parts: ['acceptance'],
    case: /^submitTransaction: a valid event is simulated/,
    aspect: 'body.decision',
    answer: inAnswer(isSubmit, 200, ({ body }) => delete body.decision),
  },
  'drops the message of refusals': {
    parts: ['credentials'],
    case: /^getApiUsage: a missing key/,
    aspect: 'body.error.message',
    answer: inAnswer(always, 401, ({ body }) => delete body.error.message),
  },
  'drops a part of the quota': {
    parts: ['production'],
    case: /^getApiUsage: /,
    aspect: 'body.quota.remaining',
    answer: inAnswer(isUsage, 200, ({ body }) => delete body.quota?.remaining),
  },
  'adds an undeclared field to the acceptance': {
    parts: ['production'],
    case: /^submitTransaction: a valid event/,
    aspect: 'body.<undeclared>',
    answer: inAnswer(isSubmit, 202, ({ body }) => (body.shard = 3)),
  },
  'adds an undeclared field to the risk': {
    parts: ['production'],
    case: /^getTransactionRisk: the risk by event id/,
    aspect: 'body.risk.<undeclared>',
    answer: inAnswer(isRisk, 200, ({ body }) => body.risk && (body.risk.customer_id = 'c-1')),
  },
  'adds received_at to the risk status': {
    parts: ['production'],
    case: /^getTransactionRisk: /,
    aspect: 'body.<undeclared>',
    answer: inAnswer(isRisk, 200, ({ body }) => (body.received_at = '2026-03-01T00:00:00Z')),
  },
  'adds a stack to refusals': {
    parts: ['credentials'],
    case: /a missing key/,
    aspect: 'body.error.<undeclared>',
    answer: inAnswer(always, 401, ({ body }) => (body.error.stack = 'at gateway.js:1')),
  },
  'gives the score as a text': {
    parts: ['production'],
    case: /^getIngestion: /,
    aspect: 'body.risk.score',
    answer: inAnswer(
      isIngestion,
      200,
      ({ body }) => body.risk && (body.risk.score = String(body.risk.score)),
    ),
  },
  'gives a score above 100': {
    parts: ['acceptance'],
    case: /^submitTransaction: /,
    aspect: 'body.risk_score',
    answer: inAnswer(isSubmit, 200, ({ body }) => (body.risk_score = 101)),
  },
  'gives a score with a fraction': {
    parts: ['acceptance'],
    case: /^submitTransaction: /,
    aspect: 'body.risk_score',
    answer: inAnswer(isSubmit, 200, ({ body }) => (body.risk_score += 0.5)),
  },
  'gives another value than the enum has': {
    parts: ['production'],
    case: /^submitTransaction: a valid event/,
    aspect: 'body.processing_state',
    answer: inAnswer(isSubmit, 202, ({ body }) => (body.processing_state = 'STORED')),
  },
  'gives the vocabulary of the guide': {
    parts: ['production'],
    case: /^getIngestion: /,
    aspect: 'body.evaluation_status',
    answer: inAnswer(isIngestion, 200, ({ body }) => (body.evaluation_status = 'EVALUATED')),
  },
  'gives the level in capitals': {
    parts: ['production'],
    case: /^getTransactionRisk: /,
    aspect: 'body.risk.level',
    answer: inAnswer(
      isRisk,
      200,
      ({ body }) => body.risk && (body.risk.level = body.risk.level.toUpperCase()),
    ),
  },
  'gives null for the reasons': {
    parts: ['production'],
    case: /^getTransactionRisk: /,
    aspect: 'body.risk.reasons',
    answer: inAnswer(isRisk, 200, ({ body }) => body.risk && (body.risk.reasons = null)),
  },
  'gives a time without an offset': {
    parts: ['production'],
    case: /^getIngestion: /,
    aspect: 'body.received_at',
    answer: inAnswer(
      isIngestion,
      200,
      ({ body }) => (body.received_at = body.received_at.slice(0, 19)),
    ),
  },
  'gives the ingestion id without its prefix': {
    parts: ['production'],
    case: /^submitTransaction: a valid event/,
    aspect: 'body.ingestion_id',
    answer: inAnswer(isSubmit, 202, ({ body }) => (body.ingestion_id = body.ingestion_id.slice(4))),
  },
  'breaks the JSON': {
    parts: ['acceptance'],
    case: /^getApiUsage: /,
    aspect: 'body',
    answer: inAnswer(isUsage, 200, (returned) => {
      returned.text = JSON.stringify(returned.body).slice(0, -1);
    }),
  },
  'answers nothing but the status': {
    parts: ['requests'],
    case: /^GET \/v1\/contract-check: /,
    aspect: 'body',
    answer: inAnswer(always, 404, (returned) => (returned.body = undefined)),
  },
  'answers refusals in its own shape': {
    parts: ['requests'],
    case: /an Idempotency-Key missing/,
    aspect: 'body.error',
    answer: inAnswer(always, 400, (returned) => {
      returned.body = { request_id: returned.body.request_id, message: 'Bad Request' };
    }),
  },
  // Statuses and codes.
  'answers 200 for 202': {
    parts: ['production'],
    case: /^submitTransaction: a valid event/,
    aspect: 'status',
    answer: inAnswer(isSubmit, 202, (returned) => (returned.status = 200)),
  },
  'answers 422 for 400': {
    parts: ['requests'],
    case: /an array is refused/,
    aspect: 'status',
    answer: inAnswer(always, 400, (returned) => (returned.status = 422)),
  },
  'answers 403 for 401': {
    parts: ['credentials'],
    case: /an unknown key/,
    aspect: 'status',
    answer: inAnswer(always, 401, (returned) => (returned.status = 403)),
  },
  'answers 400 for 409': {
    parts: ['production'],
    case: /the same key with another payload/,
    aspect: 'status',
    answer: inAnswer(isSubmit, 409, (returned) => (returned.status = 400)),
  },
  'answers 200 for 404': {
    parts: ['requests'],
    case: /^getTransactionRisk: an unknown transaction/,
    aspect: 'status',
    answer: inAnswer(isRisk, 404, (returned) => (returned.status = 200)),
  },
  'answers 500 for bad JSON': {
    parts: ['requests'],
    case: /a body that is cut off/,
    aspect: 'status',
    answer: (returned, sent) => {
      if (sent.body.toString().endsWith('",')) {
        returned.status = 500;
        returned.body.error.code = 'INTERNAL_ERROR';
      }
    },
  },
  'changes an error code': {
    parts: ['requests'],
    case: /^getIngestion: an unknown ingestion/,
    aspect: 'error.code',
    answer: inAnswer(isIngestion, 404, ({ body }) => (body.error.code = 'TRANSACTION_NOT_FOUND')),
  },
  'uses a code nobody documented': {
    parts: ['fields'],
    case: /amount_minor is left out/,
    aspect: 'error.code',
    answer: inAnswer(isSubmit, 400, ({ body }) => (body.error.code = 'BAD_REQUEST')),
  },
  'names no places': {
    parts: ['fields'],
    case: /transaction\.currency does not match/,
    aspect: 'error.details',
    answer: inAnswer(isSubmit, 400, ({ body }) => delete body.error.details),
  },
  'repeats what was refused': {
    parts: ['forbidden data'],
    case: /a card number is refused/,
    aspect: 'answer',
    answer: (returned, sent) => {
      const [number] = /4111111111111111/.exec(sent.body.toString()) ?? [];
      if (returned.status === 400 && number !== undefined) {
        returned.body.error.details = [`order: ${number} is a card number`];
      }
    },
  },
  'tells the API key in a header': {
    parts: ['acceptance'],
    case: /^getApiUsage: /,
    aspect: 'answer',
    answer: (returned, sent) => {
      returned.headers['x-gateway-caller'] = sent.headers['x-api-key'] ?? '';
    },
  },
  // Headers.
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
  // Leniency: what should be refused is repaired or passed on.
  'takes a text for a number': {
    parts: ['fields'],
    case: /transaction\.amount_minor is a text of digits/,
    aspect: 'status',
    request: repaired((_, transaction) => {
      if (typeof transaction['amount_minor'] === 'string')
        transaction['amount_minor'] = Number(transaction['amount_minor']);
    }),
  },
  'takes null for 0': {
    parts: ['fields'],
    case: /transaction\.installment_months is null/,
    aspect: 'status',
    request: repaired((_, transaction) => (transaction['installment_months'] ??= 0)),
  },
  'takes a text for a boolean': {
    parts: ['fields'],
    case: /transaction\.is_cross_border is a text/,
    aspect: 'status',
    request: repaired((_, transaction) => {
      if (transaction['is_cross_border'] === 'false') transaction['is_cross_border'] = false;
    }),
  },
  'drops undeclared fields': {
    parts: ['fields'],
    case: /transaction\.a property that is not declared/,
    aspect: 'status',
    request: repaired((_, transaction) => delete transaction['contract_check']),
  },
  'cuts what is too long': {
    parts: ['fields'],
    case: /merchant_external_id is too long/,
    aspect: 'status',
    request: repaired((event) => {
      const id = event['merchant_external_id'];
      if (typeof id === 'string' && id.length > 100)
        event['merchant_external_id'] = id.slice(0, 100);
    }),
  },
  'takes a time without an offset for UTC': {
    parts: ['fields'],
    case: /^submitTransaction: sent_at has no offset/,
    aspect: 'status',
    request: repaired((event) => {
      const at = event['sent_at'];
      if (typeof at === 'string' && at.length === 19) event['sent_at'] = `${at}Z`;
    }),
  },
  'masks card numbers instead of refusing them': {
    parts: ['forbidden data'],
    case: /a card number in groups/,
    aspect: 'status',
    request: (sent) => {
      sent.body = Buffer.from(sent.body.toString().replaceAll(/(\d{4} ){3}\d{4}/g, '***'));
    },
  },
  'makes up a missing Idempotency-Key': {
    parts: ['requests'],
    case: /an Idempotency-Key missing/,
    aspect: 'status',
    request: (sent) => {
      sent.headers['idempotency-key'] ??= randomUUID();
    },
  },
  'takes any content type': {
    parts: ['requests'],
    case: /another content type/,
    aspect: 'status',
    request: (sent) => {
      if (isSubmit(sent)) sent.headers['content-type'] = 'application/json';
    },
  },
  'folds paths to their right case': {
    parts: ['requests'],
    case: /an ingestionId like ING_12/,
    aspect: 'status',
    request: (sent) => Object.assign(sent, { path: sent.path.replace('ING_', 'ing_') }),
  },
  // Idempotency, state, usage.
  'ignores Idempotency-Keys': {
    parts: ['production'],
    case: /the same key with another event/,
    aspect: 'status',
    request: (sent) => {
      const key = sent.headers['idempotency-key'];
      if (isSubmit(sent) && key !== undefined && key.length === 36)
        sent.headers['idempotency-key'] = randomUUID();
    },
  },
  'answers a repeat with another ingestion': {
    parts: ['production'],
    case: /the same event under a new key/,
    aspect: 'body.ingestion_id',
    answer: (returned, sent) => {
      if (isSubmit(sent) && returned.headers['idempotent-replayed'] !== undefined)
        returned.body.ingestion_id = 'ing_7';
    },
  },
  'answers conflicts from a cache': {
    parts: ['production'],
    case: /the same source_event_id with another payload/,
    aspect: 'status',
    answer: (returned, sent) => {
      if (!isSubmit(sent)) return;
      const id = String(bodyOf(sent)['source_event_id']);
      if (returned.status === 202) stored = { body: returned.body as Json, id };
      if (returned.status !== 409 || stored?.id !== id) return;
      returned.status = 202;
      returned.body = { ...stored.body, request_id: returned.body.request_id };
    },
  },
  'shows a result before there is one': {
    parts: ['production'],
    case: /^getIngestion: /,
    aspect: 'body.risk',
    answer: inAnswer(isIngestion, 200, ({ body }) => (body.evaluation_status = 'PROCESSING')),
  },
  'shows no result when there is one': {
    parts: ['production'],
    case: /^getIngestion: /,
    aspect: 'body.risk',
    answer: inAnswer(isIngestion, 200, ({ body }) => (body.risk = null)),
  },
  'shows different results by different ids': {
    parts: ['production'],
    case: /^getTransactionRisk: the risk by event id/,
    aspect: 'body.risk',
    answer: inAnswer(
      isRisk,
      200,
      ({ body }) => body.risk && (body.risk.score = 99 - body.risk.score),
    ),
  },
  'forgets the tid': {
    parts: ['acceptance'],
    case: /a tid becomes the source_event_id/,
    aspect: 'body.source_event_id',
    answer: (returned, sent) => {
      if (isSubmit(sent) && returned.status === 200)
        returned.body.source_event_id = bodyOf(sent)['source_event_id'];
    },
  },
  'counts repeats': {
    parts: ['production'],
    case: /^getApiUsage: the usage counts first/,
    aspect: 'body.quota.accepted',
    answer: (() => {
      let asked = 0;
      return inAnswer(isUsage, 200, ({ body }) => {
        asked += 1;
        if (asked < 2) return;
        body.quota.accepted += 4;
        body.quota.remaining -= 4;
      });
    })(),
  },
  'does not subtract what is used': {
    parts: ['production'],
    case: /^getApiUsage: the usage counts first/,
    aspect: 'body.quota.remaining',
    answer: inAnswer(isUsage, 200, ({ body }) => (body.quota.remaining = body.quota.limit)),
  },
  'tells the usage of another month': {
    parts: ['production'],
    case: /^getApiUsage: the usage is that/,
    aspect: 'body.quota.period',
    answer: inAnswer(isUsage, 200, ({ body }) => (body.quota.period = '2001-01')),
  },
  'treats the sandbox like production': {
    parts: ['acceptance'],
    case: /^getApiUsage: the sandbox/,
    aspect: 'body.environment',
    answer: inAnswer(isUsage, 200, (returned) => {
      const quota = { period: '2026-03', limit: 1, accepted: 0, remaining: 1 };
      returned.body = { environment: 'production', quota };
    }),
  },
  'ignores the forcing tokens': {
    parts: ['acceptance'],
    case: /the token of BLOCK/,
    aspect: 'body.decision',
    answer: inAnswer(isSubmit, 200, ({ body }) => (body.decision = 'ALLOW')),
  },
  'answers a label with another': {
    parts: ['production'],
    case: /^appendTransactionOutcome: a label is appended/,
    aspect: 'body.outcome_label',
    answer: inAnswer(isOutcome, 202, ({ body }) => (body.outcome_label = 'FRAUD_CONFIRMED')),
  },
  'takes unsupported labels': {
    parts: ['production'],
    case: /^appendTransactionOutcome: an unsupported label/,
    aspect: 'status',
    request: (sent) => {
      if (!isOutcome(sent)) return;
      rewrite(sent, (body) => {
        if (body['outcome_label'] === 'CONTRACT_CHECK') body['outcome_label'] = 'FALSE_POSITIVE';
      });
    },
  },
  'lets a restricted key write': {
    parts: ['credentials'],
    case: /^appendTransactionOutcome: a key without label/,
    aspect: 'status',
    answer: inAnswer(isOutcome, 403, (returned) => {
      returned.status = 404;
      returned.body.error.code = 'TRANSACTION_NOT_FOUND';
    }),
  },
  'refuses a refund': {
    parts: ['lifecycle'],
    case: /PAYMENT_REFUND/,
    aspect: 'status',
    request: repaired((event, transaction) => {
      if (event['event_type'] === 'PAYMENT_REFUND') delete transaction['original_event_id'];
    }),
  },
  'publishes an older description': {
    parts: ['document'],
    case: /^GET \/openapi\.json: /,
    aspect: 'body',
    answer: ({ body }, { path }) => {
      if (path === '/openapi.json') body.info.version = '0.9';
    },
  },
  'loses every second connection': {
    parts: ['acceptance'],
    case: /^submitTransaction: /,
    aspect: 'connection',
    answer: (() => {
      let asked = 0;
      return () => {
        asked += 1;
        if (asked % 2 === 0) throw new Error('gone');
      };
    })(),
  },
  'answers its own errors to what is no HTTP': {
    parts: ['http'],
    case: /^no request: what is no HTTP/,
    aspect: 'header x-request-id',
  },
  'answers its own errors to headers that are too large': {
    parts: ['http'],
    case: /headers of more than 16 KiB/,
    aspect: 'body',
  },
};
