import { always, inAnswer, isIngestion, isRisk, isSubmit, type PlantedTable } from './planted.ts';

/** Statuses, codes and details of refusals. */
export const IN_STATUSES: PlantedTable = {
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
};
