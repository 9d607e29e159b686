import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'WebhookEvent',
  tableName: 'webhook_event',
  properties: {
    site_id: p.bigint().primary(),
    id: p.uuid().primary(),
    created_at: p.datetime(3).primary(),
    type: p.text(),
    ingestion_id: p.bigint().nullable(),
    body: p.text(),
  },
});

/** Something a Site is told, with the body as it is sent on every attempt; daily partitions. Append-only. */
export class WebhookEvent extends schema.class {}

schema.setClass(WebhookEvent);
export { schema as WebhookEventSchema };
