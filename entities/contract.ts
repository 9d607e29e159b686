import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'Contract',
  tableName: 'contract',
  properties: {
    id: p.bigint().primary().autoincrement(),
    site_id: p.bigint(),
    capacity_limit: p.bigint(),
    starts_at: p.datetime(3),
    ends_at: p.datetime(3),
    created_at: p.datetime(3),
  },
});

/** A period during which a Site may send events, and how many each credential may send in a UTC month. */
export class Contract extends schema.class {}

schema.setClass(Contract);
export { schema as ContractSchema };
