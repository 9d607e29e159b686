import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'OperatorAccount',
  tableName: 'operator',
  properties: {
    id: p.bigint().primary().autoincrement(),
    name: p.text().unique('operator_name_unique'),
    role: p.text().$type<'viewer' | 'operator' | 'administrator'>(),
    token_hash: p.blob(),
    token_id: p.text(),
    created_by: p.text(),
    created_at: p.datetime(3),
    expires_at: p.datetime(3),
    revoked_at: p.datetime(3).nullable(),
  },
});

/** A person or tool that may call the administrative procedures; its token is stored as a hash. */
export class OperatorAccount extends schema.class {}

schema.setClass(OperatorAccount);
export { schema as OperatorAccountSchema };
