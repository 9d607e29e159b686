import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'EvaluationWorkerRow',
  tableName: 'evaluation_worker',
  properties: {
    id: p.uuid().primary(),
    release_id: p.bigint(),
    list_version: p.bigint(),
    started_at: p.datetime(3),
    seen_at: p.datetime(3),
  },
});

/** A worker that evaluates, and which releases it goes by. */
export class EvaluationWorkerRow extends schema.class {}

schema.setClass(EvaluationWorkerRow);
export { schema as EvaluationWorkerRowSchema };
