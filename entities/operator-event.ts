import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'OperatorEvent',
  tableName: 'operator_event',
  properties: {
    site_id: p.bigint().primary(),
    id: p.bigint().primary().autoincrement(),
    kind: p.text(),
    subject: p.text(),
    detail: p.json(),
    at: p.datetime(3),
  },
});

/** Something that operators should notice, of a Site or (0) of none. Append-only. */
export class OperatorEvent extends schema.class {}

schema.setClass(OperatorEvent);
export { schema as OperatorEventSchema };
