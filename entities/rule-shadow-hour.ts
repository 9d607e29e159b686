import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'RuleShadowHour',
  tableName: 'rule_shadow_hour',
  properties: {
    site_id: p.bigint().primary(),
    hour: p.datetime(3).primary(),
    set_site_id: p.bigint().primary(),
    version: p.integer().primary(),
    answered: p.text().primary(),
    proposed: p.text().primary(),
    events: p.bigint(),
  },
});

/** Events of one hour by what was answered and what a rule set in the shadow would have answered. */
export class RuleShadowHour extends schema.class {}

schema.setClass(RuleShadowHour);
export { schema as RuleShadowHourSchema };
