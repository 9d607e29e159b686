import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'OutcomeLabel',
  tableName: 'outcome_label',
  properties: {
    site_id: p.bigint().primary(),
    ingestion_id: p.bigint().primary(),
    outcome_label: p.text().primary(),
    credential_id: p.bigint(),
    labelled_at: p.datetime(3),
  },
});

/** A confirmed outcome of a transaction, as its merchant sent it. Append-only. */
export class OutcomeLabel extends schema.class {}

schema.setClass(OutcomeLabel);
export { schema as OutcomeLabelSchema };
