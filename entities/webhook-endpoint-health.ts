import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'WebhookEndpointHealth',
  tableName: 'webhook_endpoint_health',
  properties: {
    site_id: p.bigint().primary(),
    endpoint_id: p.bigint().primary(),
    failures_in_row: p.integer(),
    failing_since: p.datetime(3).nullable(),
    breaker: p.text().$type<'CLOSED' | 'OPEN' | 'HALF_OPEN'>(),
    probe_at: p.datetime(3).nullable(),
    last_success_at: p.datetime(3).nullable(),
    last_failure_at: p.datetime(3).nullable(),
  },
});

/** How an endpoint has answered lately and whether it is spared: one state for all processes. */
export class WebhookEndpointHealth extends schema.class {}

schema.setClass(WebhookEndpointHealth);
export { schema as WebhookEndpointHealthSchema };
