import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ModelRelease',
  tableName: 'model_release',
  properties: {
    site_id: p.bigint().primary(),
    id: p.bigint().primary(),
    role: p.text().$type<'LIVE' | 'SHADOW'>(),
    model_id: p.bigint(),
    kind: p.text().$type<'PUBLISH' | 'ROLLBACK' | 'SHADOW' | 'STOP_SHADOW'>(),
    released_by: p.text(),
    released_at: p.datetime(3),
  },
});

/** Which model of a Site is live or in the shadow from a moment on; model 0 is none. Append-only. */
export class ModelRelease extends schema.class {}

schema.setClass(ModelRelease);
export { schema as ModelReleaseSchema };
