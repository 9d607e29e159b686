import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'DeadLetter',
  tableName: 'dead_letter',
  properties: {
    site_id: p.bigint().primary(),
    ingestion_id: p.bigint().primary(),
    id: p.bigint().primary().autoincrement(),
    cause: p.text(),
    attempts: p.integer(),
    dead_at: p.datetime(3),
  },
});

/** An ingestion whose automatic evaluation has stopped. Open until a resolution names it. Append-only. */
export class DeadLetter extends schema.class {}

schema.setClass(DeadLetter);
export { schema as DeadLetterSchema };
