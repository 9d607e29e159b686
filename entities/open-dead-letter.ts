import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'OpenDeadLetter',
  tableName: 'open_dead_letter',
  properties: {
    site_id: p.bigint().primary(),
    ingestion_id: p.bigint().primary(),
    dead_letter_id: p.bigint(),
    cause: p.text(),
    attempts: p.integer(),
    dead_at: p.datetime(3),
    discarded: p.boolean(),
  },
});

/**
 * The dead letters that no redrive has closed, so that looking them up costs by how many are open, not by how many
 * there ever were. What happened stays in dead_letter and dead_letter_resolution.
 */
export class OpenDeadLetter extends schema.class {}

schema.setClass(OpenDeadLetter);
export { schema as OpenDeadLetterSchema };
