import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ReportBacklog',
  tableName: 'report_backlog',
  properties: {
    site_id: p.bigint().primary(),
    waiting: p.bigint(),
    running: p.bigint(),
    retrying: p.bigint(),
    overdue: p.bigint(),
    oldest_at: p.datetime(3).nullable(),
    counted_at: p.datetime(3),
  },
});

/** Evaluation jobs of one Site that wait or run, as counted last. */
export class ReportBacklog extends schema.class {}

schema.setClass(ReportBacklog);
export { schema as ReportBacklogSchema };
