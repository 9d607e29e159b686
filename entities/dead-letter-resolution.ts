import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'DeadLetterResolution',
  tableName: 'dead_letter_resolution',
  properties: {
    site_id: p.bigint().primary(),
    ingestion_id: p.bigint().primary(),
    dead_letter_id: p.bigint().primary(),
    kind: p.text().$type<'REDRIVEN' | 'DISCARDED'>(),
    reason: p.text(),
    resolved_by: p.text(),
    resolved_at: p.datetime(3),
  },
});

/** What an operator decided about a dead letter. Append-only. */
export class DeadLetterResolution extends schema.class {}

schema.setClass(DeadLetterResolution);
export { schema as DeadLetterResolutionSchema };
