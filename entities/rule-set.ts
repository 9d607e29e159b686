import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'RuleSetVersion',
  tableName: 'rule_set',
  properties: {
    site_id: p.bigint().primary(),
    version: p.integer().primary(),
    content: p.text(),
    content_hash: p.text(),
    comment: p.text(),
    created_by: p.text(),
    created_at: p.datetime(3),
  },
});

/** One version of the rules of a Site, or of all Sites (site_id 0), as JSON text. Append-only. */
export class RuleSetVersion extends schema.class {}

schema.setClass(RuleSetVersion);
export { schema as RuleSetVersionSchema };
