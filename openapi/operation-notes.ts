import type { RefusalCase, Success } from './responses.ts';

/** What the document says about an operation beside what its procedure declares. */
export interface OperationNotes {
  /** CommonMark. */
  readonly description: string;
  /** Description of the request body, for operations that have one. */
  readonly body?: string;
  readonly successes: readonly Success[];
  readonly refusals: readonly RefusalCase[];
}

const UNAVAILABLE: RefusalCase = {
  code: 'INGESTION_UNAVAILABLE',
  when: 'A transient failure; repeat after Retry-After.',
};

const UNAVAILABLE_WRITE: RefusalCase = {
  code: 'INGESTION_UNAVAILABLE',
  when: 'Nothing can be stored durably right now, or whether it was stored is not known. Repeat after Retry-After with the same Idempotency-Key: nothing is done twice.',
};

const forbidden = (permission: string): RefusalCase => ({
  code: 'FORBIDDEN',
  when: `The credential was issued without the permission \`${permission}\`.`,
});

const BAD_EVENT_ID: RefusalCase = {
  code: 'CONTRACT_VALIDATION_FAILED',
  when: 'The sourceEventId is empty, longer than 120 characters, badly percent-encoded or looks like forbidden data.',
  details: ['sourceEventId: must be at most 120 characters long'],
};

const NO_TRANSACTION: RefusalCase = {
  code: 'TRANSACTION_NOT_FOUND',
  when: 'Your Site has no such transaction. A sandbox key always gets this answer, since the sandbox keeps nothing.',
};

/** By operationId; building the document fails for an operation that is missing here, and for one too many. */
export const OPERATION_NOTES: Readonly<Record<string, OperationNotes>> = {
  submitTransaction: {
    description:
      'Accepts one event into the durable ledger and queues it for evaluation. 202 is sent only after both are committed together.\n\n' +
      'A repeated call (the same Idempotency-Key and the same body) gets the first acceptance again, with the header `idempotent-replayed: true`, and costs no quota. ' +
      'Bodies are compared as canonical JSON (RFC 8785): the order of keys and white space do not matter, every value does, `sent_at` included.\n\n' +
      'Cancellations, refunds and chargebacks are new events of their own that name the original in `transaction.original_event_id`.\n\n' +
      'With a sandbox key nothing is stored or counted, and the answer is a simulated evaluation (200).',
    body: 'The event. 256 KiB, 32 levels and 4,096 keys at most; UTF-8, not compressed. Card numbers, account numbers, CVC, passwords and raw IP addresses are refused wherever they stand.',
    successes: [
      {
        status: 200,
        schema: 'SandboxSimulation',
        description: 'With a sandbox key: a simulated evaluation. Nothing was persisted.',
      },
      {
        status: 202,
        schema: 'AcceptedIngestion',
        description: 'The event is in the durable ledger and queued for evaluation.',
        headers: ['IdempotentReplayed'],
      },
    ],
    refusals: [
      {
        code: 'CONTRACT_VALIDATION_FAILED',
        when: 'A field is missing, undeclared, of a wrong type or out of bounds, forbidden data was found, the Idempotency-Key is missing or malformed, or the body is no JSON within the limits. The details name each place.',
        details: [
          'transaction.amount_minor: must be at least 0',
          'order.<undeclared>: must not hold a card number; send a stable token, or BIN and last4',
        ],
      },
      forbidden('ingest'),
      {
        code: 'IDEMPOTENCY_CONFLICT',
        when: 'The Idempotency-Key or the source_event_id was used before with a different payload. Nothing was stored.',
        details: ['source_event_id: was used with a different payload'],
      },
      {
        code: 'API_QUOTA_EXCEEDED',
        when: 'The monthly quota is used up. Retry-After leads to the next UTC month.',
      },
      UNAVAILABLE_WRITE,
    ],
  },
  getIngestion: {
    description:
      'Where one ingestion stands: `PENDING`, `PROCESSING` and `RETRY_SCHEDULED` will change, so ask again in 1 to 5 seconds; `SUCCEEDED` brings the result in `risk`; ' +
      '`DLQ` means that automatic retries have stopped and an operator must look at this ingestion id.',
    successes: [
      {
        status: 200,
        schema: 'IngestionStatus',
        description: 'The status, and the result once there is one.',
      },
    ],
    refusals: [
      {
        code: 'CONTRACT_VALIDATION_FAILED',
        when: 'The ingestionId is not `ing_` followed by digits.',
        details: ['ingestionId: must be ing_ followed by digits'],
      },
      forbidden('read'),
      {
        code: 'INGESTION_NOT_FOUND',
        when: 'Your Site has no such ingestion. A sandbox key always gets this answer, since the sandbox keeps nothing.',
      },
      UNAVAILABLE,
    ],
  },
  getTransactionRisk: {
    description:
      'The same result by your own event id, for callers that do not keep ingestion ids. Where `transaction.tid` was sent, use the TID: it replaced the source_event_id.',
    successes: [
      {
        status: 200,
        schema: 'TransactionRiskStatus',
        description: 'The status, and the result once there is one.',
      },
    ],
    refusals: [BAD_EVENT_ID, forbidden('read'), NO_TRANSACTION, UNAVAILABLE],
  },
  appendTransactionOutcome: {
    description:
      'Tells what the payment turned out to be. The label is appended to the ledger and teaches later evaluations; the event itself is never modified.\n\n' +
      'A repeated call is answered like the first, and a label that is there already is accepted again without being added twice.',
    body: 'The label; no other field is allowed.',
    successes: [
      {
        status: 202,
        schema: 'OutcomeLabelAccepted',
        description: 'The label is in the ledger.',
        headers: ['IdempotentReplayed'],
      },
    ],
    refusals: [
      {
        ...BAD_EVENT_ID,
        when: `The label is missing or unsupported, a field is undeclared, or the Idempotency-Key is missing or malformed. ${BAD_EVENT_ID.when}`,
        details: [
          'outcome_label: must be one of FRAUD_CONFIRMED, FALSE_POSITIVE, CHARGEBACK_CONFIRMED',
        ],
      },
      forbidden('label'),
      NO_TRANSACTION,
      {
        code: 'IDEMPOTENCY_CONFLICT',
        when: 'The Idempotency-Key was used before for another transaction or another label. Nothing was stored.',
        details: ['Idempotency-Key: was used with a different payload'],
      },
      UNAVAILABLE_WRITE,
    ],
  },
  getApiUsage: {
    description:
      'What the credential has used of its quota in the current UTC month. Only first acceptances count; the sandbox uses none. Every credential may ask.',
    successes: [
      {
        status: 200,
        schema: 'ApiUsageSummary',
        description: 'The usage; its shape depends on the environment of the key.',
      },
    ],
    refusals: [
      {
        code: 'CONTRACT_VALIDATION_FAILED',
        when: 'The request is not valid HTTP/1.1; the operation itself takes nothing that could be wrong.',
        details: ['Host: is required'],
      },
      UNAVAILABLE,
    ],
  },
};
