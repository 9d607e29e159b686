import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ReportRuleDay',
  tableName: 'report_rule_day',
  properties: {
    site_id: p.bigint().primary(),
    day: p.datetime(3).primary(),
    rule_id: p.text().primary(),
    hits: p.bigint(),
    fraud: p.bigint(),
    false_positive: p.bigint(),
  },
});

/** Events judged on one UTC day that one rule hit, and what the label they got last says. */
export class ReportRuleDay extends schema.class {}

schema.setClass(ReportRuleDay);
export { schema as ReportRuleDaySchema };
