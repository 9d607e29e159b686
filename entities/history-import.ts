import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'HistoryImport',
  tableName: 'history_import',
  properties: {
    site_id: p.bigint().primary(),
    id: p.bigint().primary(),
    credential_id: p.bigint(),
    content_hash: p.blob(),
    lines: p.bigint(),
    refused: p.bigint(),
    task_id: p.bigint().nullable(),
    created_by: p.text(),
    created_at: p.datetime(3),
    updated_at: p.datetime(3),
    ended_at: p.datetime(3).nullable(),
  },
});

/** One file of past events and labels on its way into a Site's ledger. */
export class HistoryImport extends schema.class {}

schema.setClass(HistoryImport);
export { schema as HistoryImportSchema };
