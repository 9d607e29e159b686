import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'IngestionPayload',
  tableName: 'ingestion_payload',
  properties: {
    site_id: p.bigint().primary(),
    ingestion_id: p.bigint().primary(),
    received_at: p.datetime(3).primary(),
    body: p.text(),
  },
});

/** The accepted body as canonical JSON, in daily partitions that are dropped after retention. Append-only. */
export class IngestionPayload extends schema.class {}

schema.setClass(IngestionPayload);
export { schema as IngestionPayloadSchema };
