import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_key',
  properties: {
    site_id: p.bigint().primary(),
    operation: p.text().$type<'event' | 'outcome'>().primary(),
    key_hash: p.uuid().primary(),
    fingerprint: p.blob(),
    hash_version: p.smallint(),
    ingestion_id: p.bigint(),
    created_at: p.datetime(3),
  },
});

/** Which ingestion a Site's Idempotency-Key is bound to, per operation. Keys do not expire. Append-only. */
export class IdempotencyKey extends schema.class {}

schema.setClass(IdempotencyKey);
export { schema as IdempotencyKeySchema };
