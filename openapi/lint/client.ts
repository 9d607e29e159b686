/**
 * A merchant's client on types generated from the description, here to be type-checked: every operation once as it must
 * be possible, and after each `@ts-expect-error` as it must not. Never run.
 */
import createClient from 'openapi-fetch';
import type { components, operations, paths } from './generated/v1.js';

type Event = components['schemas']['TransactionEvent'];

const client = createClient<paths>({
  baseUrl: 'https://gateway.example',
  headers: { 'x-api-key': 'from the environment' },
});

const event: Event = {
  schema_version: '1.0',
  source_event_id: 'order-1',
  occurred_at: '2026-03-01T09:00:00+09:00',
  sent_at: '2026-03-01T09:00:01+09:00',
  source_system: 'shop',
  event_type: 'PAYMENT_AUTH',
  transaction: {
    source_event_id: 'order-1',
    type: 'AUTH',
    status: 'APPROVED',
    occurred_at: '2026-03-01T09:00:00+09:00',
    amount_minor: 129_000,
    currency: 'KRW',
    channel: 'ECOMMERCE',
    installment_months: 0,
  },
  payment_method: { type: 'CARD', token: 'tok_1', bin: '411111', last4: '1111' },
  order: { anything: [{ that: 'is JSON' }] },
};

/** submitTransaction: 202 and 200 are told apart, refusals carry a code. */
export async function submit(): Promise<string> {
  const { data, error } = await client.POST('/v1/transactions', {
    params: { header: { 'Idempotency-Key': 'order-1-auth' } },
    body: event,
  });
  if (error !== undefined) return error.error.details?.join() ?? error.error.code;
  return 'environment' in data ? data.decision : `${data.ingestion_id} ${data.processing_state}`;
}

/** getIngestion and getTransactionRisk: the risk is null until there is one. */
export async function follow(): Promise<number> {
  const ingestion = await client.GET('/v1/ingestions/{ingestionId}', {
    params: { path: { ingestionId: 'ing_1' } },
  });
  const risk = await client.GET('/v1/transactions/{sourceEventId}/risk', {
    params: { path: { sourceEventId: 'order-1' } },
  });
  // @ts-expect-error risk may be null
  void ingestion.data?.risk.score;
  // @ts-expect-error received_at is not part of this body
  void risk.data?.received_at;
  return ingestion.data?.risk?.score ?? risk.data?.risk?.score ?? -1;
}

/** appendTransactionOutcome. */
export async function label(): Promise<'ACCEPTED' | undefined> {
  const { data } = await client.POST('/v1/transactions/{sourceEventId}/outcomes', {
    params: { path: { sourceEventId: 'order-1' }, header: { 'Idempotency-Key': 'order-1-label' } },
    body: { outcome_label: 'FRAUD_CONFIRMED' },
  });
  return data?.status;
}

/** getApiUsage: the two shapes are told apart by their environment. */
export async function remaining(): Promise<number | null> {
  const { data } = await client.GET('/v1/usage');
  return data?.environment === 'production' ? data.quota.remaining : null;
}

/** The statuses that are described, as a client may switch over them. */
export const statuses: (keyof operations['submitTransaction']['responses'])[] = [
  ...([200, 202, 400, 401, 403, 408, 409, 417, 429, 431, 500, 503] as const),
];

/** What the description must not let through. */
export const refused: Event[] = [
  // @ts-expect-error an undeclared property
  { ...event, site_code: 'x' },
  // @ts-expect-error another version
  { ...event, schema_version: '1.1' },
  // @ts-expect-error an amount as text
  { ...event, transaction: { ...event.transaction, amount_minor: '129000' } },
  // @ts-expect-error a payment method without a token
  { ...event, payment_method: { type: 'CARD' } },
];

// @ts-expect-error the Idempotency-Key is required
void client.POST('/v1/transactions', { body: event });
// @ts-expect-error an unsupported label
export const outcome: components['schemas']['OutcomeLabelRequest'] = { outcome_label: 'MAYBE' };
