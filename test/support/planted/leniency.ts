import { randomUUID } from 'node:crypto';
import { isSubmit, repaired, type PlantedTable } from './planted.ts';

/** What should be refused is repaired on its way and accepted. */
export const BY_LENIENCY: PlantedTable = {
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
};
