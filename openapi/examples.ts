import { ERRORS, type ErrorCode } from '../contract/errors.ts';
import type { ErrorResponse } from '../contract/error-response.ts';
import type {
  AcceptedIngestion,
  IngestionStatus,
  SandboxSimulation,
  TransactionRiskStatus,
} from '../contract/ingestion.ts';
import type { OutcomeLabelAccepted, OutcomeLabelRequest } from '../contract/outcome.ts';
import type { Risk } from '../contract/risk.ts';
import type { TransactionEvent } from '../contract/transaction.ts';
import type { ProductionUsage, SandboxUsage } from '../contract/usage.ts';
import type { Example } from './document-types.ts';

const REQUEST_ID = 'req_3f9a1c0e7b5d4e2a8c6f0b1d2e3a4c5d';
const EVENT_ID = 'order-20260301-000017';
const INGESTION_ID = 'ing_1024';

/** A card payment that was authorised, with what the evaluation reads. */
const AUTHORISATION: TransactionEvent = {
  schema_version: '1.0',
  source_event_id: EVENT_ID,
  occurred_at: '2026-03-01T09:00:00+09:00',
  sent_at: '2026-03-01T09:00:01+09:00',
  source_system: 'shop-backend',
  event_type: 'PAYMENT_AUTH',
  merchant_external_id: 'merchant-042',
  transaction: {
    source_event_id: EVENT_ID,
    type: 'AUTH',
    status: 'APPROVED',
    occurred_at: '2026-03-01T09:00:00+09:00',
    amount_minor: 129000,
    currency: 'KRW',
    channel: 'ECOMMERCE',
    installment_months: 0,
  },
  payment_method: {
    type: 'CARD',
    token: 'tok_8f14e45fceea',
    bin: '411111',
    last4: '1111',
    issuer_country: 'KR',
  },
  customer: { customer_id: 'c-90211', account_age_days: 412 },
  device: { device_id: 'd-5b1f77' },
  network: { ip_prefix: '203.0.113.0/24', country: 'KR' },
  order: { shipping_country: 'KR' },
};

/** The shortest authorisation that says something about the card: what a newcomer sends first. */
export const QUICK_START_EVENT: TransactionEvent = {
  schema_version: AUTHORISATION.schema_version,
  source_event_id: 'quick-start-1',
  occurred_at: AUTHORISATION.occurred_at,
  sent_at: AUTHORISATION.sent_at,
  source_system: AUTHORISATION.source_system,
  event_type: AUTHORISATION.event_type,
  merchant_external_id: 'merchant-042',
  transaction: { ...AUTHORISATION.transaction, source_event_id: 'quick-start-1' },
  payment_method: { type: 'CARD', token: 'tok_8f14e45fceea' },
};

const REFUND: TransactionEvent = {
  schema_version: '1.0',
  source_event_id: 'refund-20260304-000003',
  occurred_at: '2026-03-04T14:20:00+09:00',
  sent_at: '2026-03-04T14:20:00.350+09:00',
  source_system: 'shop-backend',
  event_type: 'PAYMENT_REFUND',
  merchant_external_id: 'merchant-042',
  transaction: {
    source_event_id: 'refund-20260304-000003',
    original_event_id: EVENT_ID,
    type: 'REFUND',
    status: 'REVERSED',
    occurred_at: '2026-03-04T14:20:00+09:00',
    amount_minor: 129000,
    currency: 'KRW',
    channel: 'ECOMMERCE',
  },
};

/** What the service answers for {@link AUTHORISATION} after nine attempts with its card, the last three declined. */
const RISK: Risk = {
  score: 67,
  level: 'high',
  decision: 'HOLD_RECOMMENDED',
  reasons: [
    'Approved after 3 declines in a row on this card, the last within 24 hours (threshold 3).',
    '9 earlier payment attempts with this card within 1 hour (threshold 8).',
  ],
  rule_scores: {
    card_declines_before_approval: 45,
    card_velocity_1h: 40,
  },
  evaluator_version: '1.1.0+rules.default-2.0ba09527+model.none',
  evaluated_at: '2026-03-01T00:00:02.120Z',
};

const ACCEPTED: AcceptedIngestion = {
  request_id: REQUEST_ID,
  ingestion_id: INGESTION_ID,
  status: 'ACCEPTED',
  received_at: '2026-03-01T00:00:01.480Z',
  schema_version: '1.0',
  source_event_id: EVENT_ID,
  processing_state: 'QUEUED',
};

const SIMULATED: SandboxSimulation = {
  request_id: REQUEST_ID,
  environment: 'sandbox',
  status: 'SIMULATED',
  accepted: true,
  persistence: 'NONE',
  source_event_id: EVENT_ID,
  risk_score: 0,
  decision: 'ALLOW',
  reasons: ['No risk indicator above its threshold.'],
};

const EVALUATED: IngestionStatus = {
  request_id: REQUEST_ID,
  ingestion_id: INGESTION_ID,
  source_event_id: EVENT_ID,
  evaluation_status: 'SUCCEEDED',
  received_at: '2026-03-01T00:00:01.480Z',
  risk: RISK,
};

const RISK_STATUS: TransactionRiskStatus = {
  request_id: REQUEST_ID,
  ingestion_id: INGESTION_ID,
  source_event_id: EVENT_ID,
  evaluation_status: 'SUCCEEDED',
  risk: RISK,
};

const LABEL: OutcomeLabelRequest = { outcome_label: 'FRAUD_CONFIRMED' };

const LABELLED: OutcomeLabelAccepted = {
  request_id: REQUEST_ID,
  ingestion_id: INGESTION_ID,
  source_event_id: EVENT_ID,
  outcome_label: 'FRAUD_CONFIRMED',
  status: 'ACCEPTED',
};

const SANDBOX_USAGE: SandboxUsage = { environment: 'sandbox', persistence: 'NONE', quota: null };

const PRODUCTION_USAGE: ProductionUsage = {
  environment: 'production',
  quota: { period: '2026-03', limit: 100000, accepted: 1042, remaining: 98958 },
};

/** Examples of each body, by schema name; the first is the one a reader sees first. */
export const EXAMPLES = {
  TransactionEvent: {
    authorisation: { summary: 'A card payment was authorised', value: AUTHORISATION },
    refund: {
      summary: 'A payment was refunded: a new event that names the original',
      value: REFUND,
    },
    sandboxBlock: {
      summary: 'A sandbox event whose token forces the decision BLOCK',
      value: { ...AUTHORISATION, payment_method: { type: 'CARD', token: 'tok_sandbox_block' } },
    },
  },
  AcceptedIngestion: { accepted: { summary: 'Stored and queued', value: ACCEPTED } },
  SandboxSimulation: {
    simulated: { summary: 'Simulated, nothing persisted', value: SIMULATED },
    blocked: {
      summary: 'The answer to the token tok_sandbox_block',
      value: {
        ...SIMULATED,
        risk_score: 95,
        decision: 'BLOCK',
        reasons: ['The sandbox token forces BLOCK.'],
      },
    },
  },
  IngestionStatus: {
    evaluated: { summary: 'Evaluated', value: EVALUATED },
    pending: {
      summary: 'Not evaluated yet: ask again in 1 to 5 seconds',
      value: { ...EVALUATED, evaluation_status: 'PENDING', risk: null },
    },
  },
  TransactionRiskStatus: {
    evaluated: { summary: 'Evaluated', value: RISK_STATUS },
    retrying: {
      summary: 'A first evaluation failed and another is scheduled',
      value: { ...RISK_STATUS, evaluation_status: 'RETRY_SCHEDULED', risk: null },
    },
  },
  OutcomeLabelRequest: { fraud: { summary: 'The payment was fraud', value: LABEL } },
  OutcomeLabelAccepted: { accepted: { summary: 'Appended', value: LABELLED } },
  ApiUsageSummary: {
    production: { summary: 'With a production key', value: PRODUCTION_USAGE },
    sandbox: { summary: 'With a sandbox key', value: SANDBOX_USAGE },
  },
} satisfies Record<string, Record<string, Example>>;

/** Name of a schema that has examples. */
export type ExampleName = keyof typeof EXAMPLES;

/** The error body of a code, as a caller would read it. */
export function errorExample(code: ErrorCode, details?: readonly string[]): Example {
  const { message } = ERRORS[code];
  const value: ErrorResponse = {
    request_id: REQUEST_ID,
    error: details === undefined ? { code, message } : { code, message, details: [...details] },
  };
  return { summary: message, value };
}
