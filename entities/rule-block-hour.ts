import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'RuleBlockHour',
  tableName: 'rule_block_hour',
  properties: {
    site_id: p.bigint().primary(),
    hour: p.datetime(3).primary(),
    rule_id: p.text().primary(),
    events: p.bigint(),
    capped_at: p.datetime(3).nullable(),
  },
});

/** How many events of a Site one rule has blocked within an hour; rule '' counts all events. */
export class RuleBlockHour extends schema.class {}

schema.setClass(RuleBlockHour);
export { schema as RuleBlockHourSchema };
