import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'Site',
  tableName: 'site',
  properties: {
    id: p.bigint().primary().autoincrement(),
    code: p.text().unique('site_code_unique'),
    name: p.text(),
    customer_type: p.text().$type<'SINGLE_COMPANY' | 'MULTI_MERCHANT'>(),
    default_subject: p.text(),
    approved_at: p.datetime(3).nullable(),
    suspended_at: p.datetime(3).nullable(),
    suspended_reason: p.text().nullable(),
    created_at: p.datetime(3),
    /** Days that payloads and features are kept; null = as long as the service keeps them. */
    payload_retention_days: p.integer().nullable(),
    /** Everything before it has been deleted; null = nothing. */
    payload_expired_to: p.datetime(3).nullable(),
  },
});

/** A merchant's Site: the scope that every credential, event and look-up belongs to. */
export class Site extends schema.class {}

schema.setClass(Site);
export { schema as SiteSchema };
