import { z } from 'zod';
import { OutcomeLabel } from './outcome.ts';
import { IngestionId, Instant, SourceEventId } from './primitives.ts';
import { Risk } from './risk.ts';

/** What an endpoint can subscribe to. `webhook.challenge` is none of them: it is sent on activation only. */
export const SubscribedEventType = z.enum([
  'transaction.evaluated',
  'transaction.evaluation_failed',
  'outcome.recorded',
]);
/** One of {@link SubscribedEventType}. */
export type SubscribedEventType = z.infer<typeof SubscribedEventType>;

/** Every type of event that is ever delivered. */
export type WebhookEventType = SubscribedEventType | 'webhook.challenge';

/** The public form of an event's id, as in `x-service-event-id`: `evt_` and the 32 hexadecimal digits of a UUIDv7. */
export const WebhookEventId = z
  .string()
  .regex(/^evt_[0-9a-f]{32}$/, { error: 'must be evt_ followed by 32 hexadecimal digits' })
  .meta({
    description:
      'The same on every attempt and in `x-service-event-id`: what you have seen, discard.',
    example: 'evt_0199e2a4b7c07d3e9f1a2b3c4d5e6f70',
  });

/** The public form of an event's UUID. */
export function webhookEventIdOf(uuid: string): string {
  return `evt_${uuid.replaceAll('-', '')}`;
}

/** The UUID behind a public event id; undefined for what has not its form. */
export function parseWebhookEventId(text: string): string | undefined {
  const hex = /^evt_([0-9a-f]{32})$/.exec(text)?.[1];
  if (hex === undefined) return undefined;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The form of a delivery's id. The event's digits begin with its time in ms: from e6 on it is past the year 9999. */
export const DELIVERY_ID = /^dlv_[1-9]\d{0,17}_[0-9a-d][0-9a-f]{31}$/;

/** Names one delivery, an event on its way to an endpoint: `dlv_`, the endpoint's id, the event's 32 digits. */
export const DeliveryId = z
  .string()
  .regex(DELIVERY_ID, { error: 'must be such as dlv_7_0199e2a4…' })
  .meta({ example: 'dlv_7_0199e2a4b7c07d3e9f1a2b3c4d5e6f70' });

/** The public form of a delivery's id. */
export function deliveryIdOf(endpointId: bigint, eventUuid: string): string {
  return `dlv_${endpointId}_${eventUuid.replaceAll('-', '')}`;
}

/** The endpoint and the event's UUID behind a text that {@link DeliveryId} let pass. */
export function parseDeliveryId(text: string): { endpointId: bigint; eventId: string } {
  const [, endpointId = '', hex = ''] = text.split('_');
  const eventId = parseWebhookEventId(`evt_${hex}`);
  if (eventId === undefined) throw new RangeError('not a delivery id');
  return { endpointId: BigInt(endpointId), eventId };
}

const CreatedAt = Instant.meta({
  description: 'When it happened, UTC. The time of an attempt is in `x-service-timestamp`.',
  example: '2026-03-01T00:00:02.120Z',
});

/** The transaction that an event is about. */
const transaction = { ingestion_id: IngestionId, source_event_id: SourceEventId };

const ID = 'evt_0199e2a4b7c07d3e9f1a2b3c4d5e6f70';
const AT = '2026-03-01T00:00:02.120Z';
const WHICH = { ingestion_id: 'ing_1024', source_event_id: 'order-20260301-000017' };

/** Open, here and in `data`: a receiver must be ready for fields that come later. */
const body = <Type extends WebhookEventType, Data extends z.ZodRawShape>(type: Type, data: Data) =>
  z.looseObject({
    event_id: WebhookEventId,
    event_type: z.literal(type),
    created_at: CreatedAt,
    data: z.looseObject(data),
  });

/** An event was judged; `risk` is what GET .../risk answers from then on. */
export const TransactionEvaluatedWebhook = body('transaction.evaluated', {
  ...transaction,
  risk: Risk,
}).meta({
  id: 'TransactionEvaluatedWebhook',
  example: {
    event_id: ID,
    event_type: 'transaction.evaluated',
    created_at: AT,
    data: {
      ...WHICH,
      risk: {
        score: 0,
        level: 'low',
        decision: 'ALLOW',
        reasons: ['No risk indicator above its threshold.'],
        rule_scores: {},
        evaluator_version: '1.1.0+rules.default-2.0ba09527+model.none',
        evaluated_at: AT,
      },
    },
  },
});

/** Automatic evaluation has stopped; an operator may start it again, and `transaction.evaluated` follows then. */
export const TransactionEvaluationFailedWebhook = body('transaction.evaluation_failed', {
  ...transaction,
  evaluation_status: z.literal('DLQ'),
}).meta({
  id: 'TransactionEvaluationFailedWebhook',
  example: {
    event_id: ID,
    event_type: 'transaction.evaluation_failed',
    created_at: AT,
    data: { ...WHICH, evaluation_status: 'DLQ' },
  },
});

/** A label was appended; a label that was there already causes none. */
export const OutcomeRecordedWebhook = body('outcome.recorded', {
  ...transaction,
  outcome_label: OutcomeLabel,
}).meta({
  id: 'OutcomeRecordedWebhook',
  example: {
    event_id: ID,
    event_type: 'outcome.recorded',
    created_at: AT,
    data: { ...WHICH, outcome_label: 'FRAUD_CONFIRMED' },
  },
});

/** Sent when an endpoint is activated; a 2xx within the limit activates it. */
export const WebhookChallenge = body('webhook.challenge', {
  endpoint_id: z.string().meta({ description: 'The endpoint that is being activated.' }),
}).meta({
  id: 'WebhookChallenge',
  example: {
    event_id: ID,
    event_type: 'webhook.challenge',
    created_at: AT,
    data: { endpoint_id: '7' },
  },
});

/** The body of every type, in the order in which a reader meets them. */
export const WEBHOOK_BODIES = {
  'webhook.challenge': WebhookChallenge,
  'transaction.evaluated': TransactionEvaluatedWebhook,
  'transaction.evaluation_failed': TransactionEvaluationFailedWebhook,
  'outcome.recorded': OutcomeRecordedWebhook,
} as const satisfies Record<WebhookEventType, z.ZodType>;

/** What an event of a type carries as `data`. */
export type WebhookData<Type extends WebhookEventType> = z.infer<
  (typeof WEBHOOK_BODIES)[Type]
>['data'];
