import { z } from 'zod';
import { WEBHOOK_BODIES, type WebhookEventType } from '../contract/webhook.ts';
import type { ApiWebhook, Parameter } from './document-types.ts';
import { refTo } from './schemas.ts';

/**
 * Shows the generator the bodies that we send. They are described like answers, whose schemas tell what is certain to be
 * there; the path is left out of the document.
 */
export const WEBHOOK_PATHS = {
  '/webhooks': {
    post: {
      responses: {
        200: {
          description: 'A delivery',
          content: { 'application/json': { schema: z.union(Object.values(WEBHOOK_BODIES)) } },
        },
      },
    },
  },
} as const;

/** What every delivery carries (contract, section 6.1). */
const DELIVERY_HEADERS: Parameter[] = [
  {
    name: 'x-service-event-id',
    in: 'header',
    required: true,
    description: 'The event; the same on every attempt. Discard one that you have seen.',
    schema: { type: 'string' },
  },
  {
    name: 'x-service-timestamp',
    in: 'header',
    required: true,
    description:
      'When this attempt was signed, UTC. Refuse one more than 5 minutes off your clock.',
    schema: { type: 'string', format: 'date-time' },
  },
  {
    name: 'x-service-signature',
    in: 'header',
    required: true,
    description:
      'v1= and the HMAC-SHA256, in hexadecimal, of timestamp, dot, event id, dot and raw body, made with the signing secret.',
    schema: { type: 'string', pattern: '^v1=[0-9a-f]{64}$' },
  },
  {
    name: 'x-service-signature-previous',
    in: 'header',
    required: false,
    description:
      'The same, made with the previous secret; only in the 24 hours after a replacement.',
    schema: { type: 'string', pattern: '^v1=[0-9a-f]{64}$' },
  },
];

/** When each type is sent. */
const SUMMARIES: Readonly<Record<WebhookEventType, string>> = {
  'webhook.challenge': 'An endpoint is being activated',
  'transaction.evaluated': 'An event was evaluated',
  'transaction.evaluation_failed': 'Automatic retries of an evaluation have stopped',
  'outcome.recorded': 'An outcome label was appended',
};

const DESCRIPTION =
  'Delivered at least once and in no promised order, to endpoints that the operator registered; never for the sandbox. ' +
  'Any 2xx within 10 seconds is success. Anything else is tried again over about 28 hours, signed anew, with the same event id and the same bytes. ' +
  'Redirects are not followed; 410 switches the endpoint off.';

/**
 * What the service sends, by event type. OpenAPI 3.0 has no place for it; `x-webhooks` is the extension that became
 * `webhooks` in 3.1, and what Redocly's tools read.
 */
export const WEBHOOKS: Readonly<Record<string, { readonly post: ApiWebhook }>> = Object.fromEntries(
  Object.entries(WEBHOOK_BODIES).map(([type, schema]) => {
    const { id, example } = schema.meta() ?? {};
    if (id === undefined) throw new Error(`contract/webhook.ts: ${type} has no name`);
    const post: ApiWebhook = {
      operationId: `receive${id.replace(/Webhook$/, '')}`,
      summary: SUMMARIES[type as WebhookEventType],
      description: DESCRIPTION,
      parameters: DELIVERY_HEADERS,
      requestBody: {
        required: true,
        description: 'The signed bytes.',
        content: {
          'application/json': {
            schema: { $ref: refTo(id) },
            examples: { delivery: { summary: type, value: example } },
          },
        },
      },
      responses: {
        '2XX': { description: 'Received; nothing of the answer is used.' },
        '4XX': { description: 'Not received: tried again, but for 410, which switches off.' },
      },
    };
    return [type, { post }];
  }),
);
