import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'EvaluationAttempt',
  tableName: 'evaluation_attempt',
  properties: {
    site_id: p.bigint().primary(),
    ingestion_id: p.bigint().primary(),
    attempt: p.integer().primary(),
    error_class: p.text(),
    error_place: p.text(),
    failed_at: p.datetime(3),
  },
});

/** One failed attempt to evaluate: the error's class and place, never its text. Append-only. */
export class EvaluationAttempt extends schema.class {}

schema.setClass(EvaluationAttempt);
export { schema as EvaluationAttemptSchema };
