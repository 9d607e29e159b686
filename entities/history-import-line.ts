import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'HistoryImportLine',
  tableName: 'history_import_line',
  properties: {
    site_id: p.bigint().primary(),
    import_id: p.bigint().primary(),
    at: p.datetime(3).primary(),
    line: p.bigint().primary(),
    is_label: p.boolean(),
    body: p.text(),
  },
});

/** A past event or label that was uploaded and is not in the ledger yet. */
export class HistoryImportLine extends schema.class {}

schema.setClass(HistoryImportLine);
export { schema as HistoryImportLineSchema };
