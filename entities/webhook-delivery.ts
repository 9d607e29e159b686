import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'WebhookDelivery',
  tableName: 'webhook_delivery',
  properties: {
    site_id: p.bigint().primary(),
    endpoint_id: p.bigint().primary(),
    event_id: p.uuid().primary(),
    created_at: p.datetime(3).primary(),
    event_type: p.text(),
    state: p.text().$type<'PENDING' | 'DELIVERED' | 'FAILED'>(),
    step: p.smallint(),
    attempts: p.integer(),
    next_attempt_at: p.datetime(3).nullable(),
    last_attempt_at: p.datetime(3).nullable(),
    settled_at: p.datetime(3).nullable(),
    failure: p
      .text()
      .$type<'EXHAUSTED' | 'GONE' | 'ENDPOINT_DISABLED' | 'CHALLENGE_VOID'>()
      .nullable(),
  },
});

/** One event on its way to one endpoint; the states are drawn in migration 0007. Daily partitions. */
export class WebhookDelivery extends schema.class {}

schema.setClass(WebhookDelivery);
export { schema as WebhookDeliverySchema };
