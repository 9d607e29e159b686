import {
  always,
  inAnswer,
  isIngestion,
  isRisk,
  isSubmit,
  isUsage,
  type PlantedTable,
} from './planted.ts';

/** Bodies that differ from their schemas. */
export const IN_BODIES: PlantedTable = {
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
};
