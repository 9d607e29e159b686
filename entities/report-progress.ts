import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ReportProgress',
  tableName: 'report_progress',
  properties: {
    id: p.smallint().primary(),
    rolled_to: p.datetime(3),
  },
});

/** How far the sums of reports have come; one row. */
export class ReportProgress extends schema.class {}

schema.setClass(ReportProgress);
export { schema as ReportProgressSchema };
