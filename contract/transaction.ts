import { z } from 'zod';
import { AmountMinor, boundedText, Currency, Instant, SourceEventId } from './primitives.ts';

/** What happened to the payment, in the envelope's words. */
export const EventType = z.enum([
  'PROFILE_UPSERT',
  'PAYMENT_AUTH',
  'PAYMENT_CAPTURE',
  'PAYMENT_CANCEL',
  'PAYMENT_REFUND',
  'PAYMENT_CHARGEBACK',
]);
/** One of {@link EventType}. */
export type EventType = z.infer<typeof EventType>;

/** What happened to the payment, in the transaction's words. */
export const TransactionType = z.enum([
  'AUTH',
  'CAPTURE',
  'PAYMENT',
  'CANCEL',
  'REFUND',
  'CHARGEBACK',
]);
/** One of {@link TransactionType}. */
export type TransactionType = z.infer<typeof TransactionType>;

/** State of the payment after the event. */
export const TransactionStatus = z.enum([
  'REQUESTED',
  'APPROVED',
  'DECLINED',
  'PENDING',
  'CANCELED',
  'REVERSED',
]);
/** One of {@link TransactionStatus}. */
export type TransactionStatus = z.infer<typeof TransactionStatus>;

/** Where the payment was made. */
export const Channel = z.enum(['ECOMMERCE', 'APP', 'POS', 'MANUAL', 'SMS']);
/** One of {@link Channel}. */
export type Channel = z.infer<typeof Channel>;

/** How a Site's customer is set up; decides whether events must name a merchant. */
export type CustomerType = 'SINGLE_COMPANY' | 'MULTI_MERCHANT';

const TRANSACTION_EXAMPLE = {
  source_event_id: 'order-20260301-000017',
  type: 'AUTH',
  status: 'APPROVED',
  occurred_at: '2026-03-01T09:00:00+09:00',
  amount_minor: 129000,
  currency: 'KRW',
  channel: 'ECOMMERCE',
  installment_months: 0,
} as const;

/** The payment itself (contract, section 2.2). Rules that span fields are in `transaction-rules.ts`. */
export const CanonicalTransaction = z
  .strictObject({
    source_event_id: SourceEventId.meta({
      description: 'Equals the source_event_id of the envelope.',
    }),
    original_event_id: boundedText(1, 120)
      .meta({
        description:
          'The source_event_id of the original transaction; required for cancel, refund and chargeback.',
      })
      .optional(),
    type: TransactionType,
    status: TransactionStatus,
    occurred_at: Instant,
    amount_minor: AmountMinor.meta({ description: "Amount in the currency's minor unit." }),
    currency: Currency,
    channel: Channel,
    installment_months: z
      .int()
      .min(0)
      .max(60)
      .meta({ description: '0 means lump sum; required for PAYMENT_AUTH events.' })
      .optional(),
    tid: boundedText(1, 120)
      .meta({
        description:
          'When supplied, the durable source_event_id used for trace, risk lookup and outcomes.',
      })
      .optional(),
    auth_no_token: z
      .string()
      .meta({ description: 'Tokenized or limited id; never raw card data.' })
      .optional(),
    response_code: z.string().optional(),
    reason_code: z.string().optional(),
    is_cross_border: z.boolean().optional(),
    requested_at: Instant.optional(),
    business_type: z.string().optional(),
  })
  .meta({ id: 'CanonicalTransaction', example: TRANSACTION_EXAMPLE });
/** The payment itself, instants as the caller wrote them. */
export type CanonicalTransaction = z.infer<typeof CanonicalTransaction>;

/** What the payment was made with (contract, section 2.3); further properties are allowed. */
export const PaymentMethodContext = z
  .looseObject({
    type: z.string(),
    token: z.string().min(1).meta({
      description: 'Stable token. Raw PAN, CVC, CVV and account numbers are forbidden.',
    }),
  })
  .meta({
    id: 'PaymentMethodContext',
    example: { type: 'CARD', token: 'tok_8f14e45fceea', bin: '411111', last4: '1111' },
  });
/** What the payment was made with. */
export type PaymentMethodContext = z.infer<typeof PaymentMethodContext>;

/** Any JSON object that holds nothing forbidden (contract, section 2.4). */
const FreeForm = z.looseObject({}).optional();

/**
 * Request body of POST /v1/transactions (contract, section 2.1).
 *
 * Neither coerces nor transforms: what parses is what was sent. No optional field may be null. Rules that span
 * fields are in `transaction-rules.ts`, so that this stays a plain object schema that OpenAPI can describe.
 */
export const TransactionEvent = z
  .strictObject({
    schema_version: z.literal('1.0'),
    source_event_id: SourceEventId.meta({
      description:
        'Immutable event id of the caller. Replaced by transaction.tid where that is supplied.',
    }),
    occurred_at: Instant,
    sent_at: Instant,
    source_system: z.string().min(1),
    event_type: EventType,
    merchant_external_id: boundedText(1, 100)
      .meta({
        description: 'Required for customers configured as MULTI_MERCHANT.',
      })
      .optional(),
    correlation_id: z.string().optional(),
    profile_version: z.int().min(0).optional(),
    transaction: CanonicalTransaction,
    payment_method: PaymentMethodContext.optional(),
    order: FreeForm,
    customer: FreeForm,
    device: FreeForm,
    session: FreeForm,
    network: FreeForm,
    velocity: FreeForm,
  })
  .meta({
    id: 'TransactionEvent',
    description: 'One payment transaction event.',
    example: {
      schema_version: '1.0',
      source_event_id: 'order-20260301-000017',
      occurred_at: '2026-03-01T09:00:00+09:00',
      sent_at: '2026-03-01T09:00:01+09:00',
      source_system: 'shop-backend',
      event_type: 'PAYMENT_AUTH',
      merchant_external_id: 'merchant-042',
      transaction: TRANSACTION_EXAMPLE,
      payment_method: { type: 'CARD', token: 'tok_8f14e45fceea', bin: '411111', last4: '1111' },
      customer: { customer_id: 'c-90211', account_age_days: 412 },
      network: { ip_prefix: '203.0.113.0/24', country: 'KR' },
    },
  });
/** One payment transaction event as it was sent. */
export type TransactionEvent = z.infer<typeof TransactionEvent>;
