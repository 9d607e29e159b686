import { Migration } from '@mikro-orm/migrations';

/**
 * Where the server has no fast compression, the largest states are kept as they are: compressing one by the slow default
 * cost more than everything else about writing it (docs/decisions/0008-evaluation-worker.md).
 */
export class Migration0014LargeStates extends Migration {
  override name = '0014-large-states';

  override up(): void {
    this.addSql(`do $$ begin
      if (select attcompression <> 'l' from pg_attribute
          where attrelid = 'entity_state'::regclass and attname = 'state') then
        alter table entity_state alter column state set storage external;
      end if;
    end $$`);
  }
}
