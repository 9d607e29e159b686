import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ReportScoreDay',
  tableName: 'report_score_day',
  properties: {
    site_id: p.bigint().primary(),
    day: p.datetime(3).primary(),
    score: p.smallint().primary(),
    events: p.bigint(),
    fraud: p.bigint(),
    false_positive: p.bigint(),
  },
});

/** Events judged on one UTC day with one score, and what the label they got last says. */
export class ReportScoreDay extends schema.class {}

schema.setClass(ReportScoreDay);
export { schema as ReportScoreDaySchema };
