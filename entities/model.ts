import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'Model',
  tableName: 'model',
  properties: {
    site_id: p.bigint().primary(),
    id: p.bigint().primary(),
    features_version: p.integer(),
    settings: p.json(),
    metrics: p.json(),
    forest: p.text(),
    content_hash: p.text(),
    created_by: p.text(),
    created_at: p.datetime(3),
  },
});

/** A model learned for one Site, with how it was learned and measured. Append-only. */
export class Model extends schema.class {}

schema.setClass(Model);
export { schema as ModelSchema };
