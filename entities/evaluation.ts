import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'Evaluation',
  tableName: 'evaluation',
  properties: {
    site_id: p.bigint().primary(),
    ingestion_id: p.bigint().primary(),
    score: p.smallint(),
    level: p.text(),
    decision: p.text(),
    reasons: p.json().$type<string[]>(),
    rule_scores: p.json().$type<Record<string, number>>(),
    evaluator_version: p.text(),
    evaluated_at: p.datetime(3),
  },
});

/** The one risk result of an ingestion. Append-only. */
export class Evaluation extends schema.class {}

schema.setClass(Evaluation);
export { schema as EvaluationSchema };
