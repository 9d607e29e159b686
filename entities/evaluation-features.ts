import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'EvaluationFeatures',
  tableName: 'evaluation_features',
  properties: {
    site_id: p.bigint().primary(),
    ingestion_id: p.bigint().primary(),
    evaluated_at: p.datetime(3).primary(),
    features: p.text(),
  },
});

/** The features an evaluation saw, so that its decision can be replayed; daily partitions. Append-only. */
export class EvaluationFeatures extends schema.class {}

schema.setClass(EvaluationFeatures);
export { schema as EvaluationFeaturesSchema };
