import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entry',
  properties: {
    id: p.bigint().primary().autoincrement(),
    at: p.datetime(3),
    actor: p.text(),
    actor_role: p.text().nullable(),
    address: p.text(),
    procedure: p.text(),
    site_code: p.text().nullable(),
    before: p.json().nullable(),
    after: p.json().nullable(),
  },
});

/** One administrative mutation: who, from where, what, before and after without secrets. Append-only. */
export class AuditEntry extends schema.class {}

schema.setClass(AuditEntry);
export { schema as AuditEntrySchema };
