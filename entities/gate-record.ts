import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'GateRecord',
  tableName: 'gate_record',
  properties: {
    site_id: p.bigint().primary(),
    id: p.bigint().primary().autoincrement(),
    gate: p.text().$type<'QUALITY' | 'SECURITY'>(),
    result: p.text().$type<'PASSED' | 'FAILED'>(),
    evidence: p.text(),
    recorded_by: p.text(),
    recorded_at: p.datetime(3),
  },
});

/** One result of the QUALITY or SECURITY gate of a Site; the newest of each gate counts. Append-only. */
export class GateRecord extends schema.class {}

schema.setClass(GateRecord);
export { schema as GateRecordSchema };
