import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'EvaluationTurn',
  tableName: 'evaluation_turn',
  properties: {
    site_id: p.bigint().primary(),
    holder: p.uuid(),
  },
});

/** The worker that changed the entity states of a Site last; locked by the one whose turn it is. */
export class EvaluationTurn extends schema.class {}

schema.setClass(EvaluationTurn);
export { schema as EvaluationTurnSchema };
