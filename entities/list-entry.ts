import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ListEntry',
  tableName: 'list_entry',
  properties: {
    site_id: p.bigint().primary(),
    list: p.text().$type<'allow' | 'block' | 'watch'>().primary(),
    entity_kind: p.text().primary(),
    entity_key: p.uuid().primary(),
    version: p.bigint(),
    reason: p.text(),
    put_by: p.text(),
    put_at: p.datetime(3),
    expires_at: p.datetime(3).nullable(),
    removed_at: p.datetime(3).nullable(),
  },
});

/** An entity on a list of a Site, or of all Sites (site_id 0); one that was removed stays as a row that says so. */
export class ListEntry extends schema.class {}

schema.setClass(ListEntry);
export { schema as ListEntrySchema };
