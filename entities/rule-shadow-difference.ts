import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'RuleShadowDifference',
  tableName: 'rule_shadow_difference',
  properties: {
    site_id: p.bigint().primary(),
    ingestion_id: p.bigint().primary(),
    evaluated_at: p.datetime(3).primary(),
    set_site_id: p.bigint().primary(),
    version: p.integer().primary(),
    answered: p.text(),
    proposed: p.text(),
    answered_score: p.smallint(),
    proposed_score: p.smallint(),
  },
});

/** An event that a rule set in the shadow would have decided otherwise; daily partitions. Append-only. */
export class RuleShadowDifference extends schema.class {}

schema.setClass(RuleShadowDifference);
export { schema as RuleShadowDifferenceSchema };
