import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'WebhookAttempt',
  tableName: 'webhook_attempt',
  properties: {
    site_id: p.bigint().primary(),
    endpoint_id: p.bigint().primary(),
    event_id: p.uuid().primary(),
    attempt: p.integer().primary(),
    attempted_at: p.datetime(3).primary(),
    outcome: p.text().$type<'DELIVERED' | 'RETRY' | 'FAILED'>(),
    duration_ms: p.integer(),
    http_status: p.smallint().nullable(),
    error_class: p.text().nullable(),
    address: p.text().nullable(),
    answer: p.text().nullable(),
    next_attempt_at: p.datetime(3).nullable(),
  },
});

/** One attempt to deliver: what was dialled, what came back and what follows; daily partitions. Append-only. */
export class WebhookAttempt extends schema.class {}

schema.setClass(WebhookAttempt);
export { schema as WebhookAttemptSchema };
