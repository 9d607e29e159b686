import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'EntityState',
  tableName: 'entity_state',
  properties: {
    site_id: p.bigint().primary(),
    entity_kind: p.text(),
    entity_key: p.uuid().primary(),
    state: p.text(),
    version: p.bigint(),
  },
});

/** The bounded history of one entity (card, customer, device, ...) of a Site, as risk/features encodes it. */
export class EntityState extends schema.class {}

schema.setClass(EntityState);
export { schema as EntityStateSchema };
