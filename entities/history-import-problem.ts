import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'HistoryImportProblem',
  tableName: 'history_import_problem',
  properties: {
    site_id: p.bigint().primary(),
    import_id: p.bigint().primary(),
    line: p.bigint().primary(),
    problems: p.json(),
  },
});

/** A line that was not imported, and why: paths and reasons, never a value. */
export class HistoryImportProblem extends schema.class {}

schema.setClass(HistoryImportProblem);
export { schema as HistoryImportProblemSchema };
