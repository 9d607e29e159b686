import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'WebhookEndpoint',
  tableName: 'webhook_endpoint',
  properties: {
    id: p.bigint().primary().autoincrement(),
    site_id: p.bigint(),
    url: p.text(),
    url_version: p.integer(),
    description: p.text(),
    event_types: p.array().columnType('text[]'),
    state: p.text().$type<'PENDING' | 'ACTIVE' | 'DISABLED'>(),
    challenge_event_id: p.uuid().nullable(),
    activated_at: p.datetime(3).nullable(),
    disabled_at: p.datetime(3).nullable(),
    disabled_reason: p.text().$type<'OPERATOR' | 'GONE' | 'FAILING'>().nullable(),
    created_by: p.text(),
    created_at: p.datetime(3),
    changed_by: p.text(),
    changed_at: p.datetime(3),
  },
});

/** Where a Site wants its events delivered; the states are drawn in migration 0007. */
export class WebhookEndpoint extends schema.class {}

schema.setClass(WebhookEndpoint);
export { schema as WebhookEndpointSchema };
