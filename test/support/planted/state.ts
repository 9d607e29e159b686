import { randomUUID } from 'node:crypto';
import type { Json } from '../../../openapi/contract-check/events.ts';
import { bodyOf, rewrite } from '../broken-gateway.ts';
import {
  inAnswer,
  isIngestion,
  isOutcome,
  isRisk,
  isSubmit,
  isUsage,
  repaired,
  type PlantedTable,
} from './planted.ts';

let stored: { body: Json; id: string } | undefined;

/** Repeats, states, usage, connections. */
export const IN_STATE: PlantedTable = {
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
