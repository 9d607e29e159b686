import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'Task',
  tableName: 'task',
  properties: {
    id: p.bigint().primary().autoincrement(),
    kind: p.text(),
    site_id: p.bigint(),
    state: p.text().$type<'QUEUED' | 'RUNNING' | 'DONE' | 'FAILED' | 'CANCELED'>(),
    input: p.json(),
    position: p.json().nullable(),
    done: p.bigint(),
    total: p.bigint().nullable(),
    result: p.json().nullable(),
    error: p.text().nullable(),
    starts: p.integer(),
    fruitless_starts: p.integer(),
    created_by: p.text(),
    created_at: p.datetime(3),
    started_at: p.datetime(3).nullable(),
    updated_at: p.datetime(3),
    finished_at: p.datetime(3).nullable(),
  },
});

/** Long work that an administrative call started: what it is, how far it got and how it ended. */
export class Task extends schema.class {}

schema.setClass(Task);
export { schema as TaskSchema };
