import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'EntityLabel',
  tableName: 'entity_label',
  properties: {
    site_id: p.bigint().primary(),
    entity_kind: p.text().primary(),
    entity_key: p.uuid().primary(),
    outcome_label: p.text().primary(),
    ingestion_id: p.bigint().primary(),
    labelled_at: p.datetime(3),
  },
});

/** An outcome label as seen from one entity of its transaction. Append-only. */
export class EntityLabel extends schema.class {}

schema.setClass(EntityLabel);
export { schema as EntityLabelSchema };
