import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'WebhookSecret',
  tableName: 'webhook_secret',
  properties: {
    id: p.bigint().primary().autoincrement(),
    site_id: p.bigint(),
    endpoint_id: p.bigint(),
    key_id: p.text(),
    sealed: p.blob(),
    signs_until: p.datetime(3).nullable(),
    created_at: p.datetime(3),
  },
});

/** A signing secret, encrypted; current where `signs_until` is null, else replaced and signing beside it until then. */
export class WebhookSecret extends schema.class {}

schema.setClass(WebhookSecret);
export { schema as WebhookSecretSchema };
