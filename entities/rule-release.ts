import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'RuleRelease',
  tableName: 'rule_release',
  properties: {
    site_id: p.bigint().primary(),
    id: p.bigint().primary(),
    role: p.text().$type<'LIVE' | 'SHADOW'>(),
    version: p.integer(),
    kind: p.text().$type<'PUBLISH' | 'ROLLBACK' | 'SHADOW' | 'STOP_SHADOW'>(),
    reason: p.text().nullable(),
    released_by: p.text(),
    released_at: p.datetime(3),
  },
});

/** Which version of a rule set is live or in the shadow from a moment on; version 0 is what came with the service. Append-only. */
export class RuleRelease extends schema.class {}

schema.setClass(RuleRelease);
export { schema as RuleReleaseSchema };
