import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ModelShadowScore',
  tableName: 'model_shadow_score',
  properties: {
    site_id: p.bigint().primary(),
    ingestion_id: p.bigint().primary(),
    evaluated_at: p.datetime(3).primary(),
    model_id: p.bigint().primary(),
    probability: p.double(),
    live_probability: p.double().nullable(),
  },
});

/** What a model in the shadow said of an event; daily partitions. Append-only. */
export class ModelShadowScore extends schema.class {}

schema.setClass(ModelShadowScore);
export { schema as ModelShadowScoreSchema };
