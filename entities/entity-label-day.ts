import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'EntityLabelDay',
  tableName: 'entity_label_day',
  properties: {
    site_id: p.bigint().primary(),
    entity_kind: p.text().primary(),
    entity_key: p.uuid().primary(),
    day: p.integer().primary(),
    frauds: p.integer(),
    chargebacks: p.integer(),
    false_positives: p.integer(),
    first_fraud_at: p.datetime(3).nullable(),
    last_fraud_at: p.datetime(3).nullable(),
    delay_seconds: p.bigint(),
  },
});

/** The outcome labels of one entity that arrived on one day, added up; day 2147483647 has the sums of all days. */
export class EntityLabelDay extends schema.class {}

schema.setClass(EntityLabelDay);
export { schema as EntityLabelDaySchema };
