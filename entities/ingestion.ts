import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'Ingestion',
  tableName: 'ingestion',
  properties: {
    site_id: p.bigint().primary(),
    id: p.bigint().primary(),
    source_event_id: p.text(),
    caller_event_id: p.text().nullable(),
    original_event_id: p.text().nullable(),
    payload_hash: p.blob(),
    hash_version: p.smallint(),
    received_at: p.datetime(3),
    occurred_at: p.datetime(3),
    event_type: p.text(),
    transaction_type: p.text(),
    transaction_status: p.text(),
    amount_minor: p.bigint(),
    currency: p.text(),
    merchant_subject: p.text(),
    credential_id: p.bigint(),
  },
});

/** The narrow, lasting ledger: one row per accepted event. Append-only. */
export class Ingestion extends schema.class {}

schema.setClass(Ingestion);
export { schema as IngestionSchema };
