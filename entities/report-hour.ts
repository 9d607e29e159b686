import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ReportHour',
  tableName: 'report_hour',
  properties: {
    site_id: p.bigint().primary(),
    hour: p.datetime(3).primary(),
    accepted: p.bigint(),
    evaluated: p.bigint(),
    allowed: p.bigint(),
    reviewed: p.bigint(),
    held: p.bigint(),
    blocked: p.bigint(),
    failed_attempts: p.bigint(),
    dead_letters: p.bigint(),
    webhooks_delivered: p.bigint(),
    webhooks_failed: p.bigint(),
  },
});

/** What happened in one hour (UTC) at one Site, or, with site_id 0, in the whole service. */
export class ReportHour extends schema.class {}

schema.setClass(ReportHour);
export { schema as ReportHourSchema };
