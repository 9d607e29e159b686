import { Migration } from '@mikro-orm/migrations';
import { APPEND_ONLY_TABLES, PARTITIONED_TABLES } from '../tables.ts';

/**
 * What was accepted is never changed: UPDATE, DELETE and TRUNCATE are refused by trigger, for every role.
 * Dropping an expired partition, which only the owning role can do, is the one way out.
 */
export class Migration0002AppendOnly extends Migration {
  override name = '0002-append-only';

  override up(): void {
    this.addSql(`create function refuse_change() returns trigger language plpgsql as $$
      begin
        raise exception 'table % is append-only', tg_table_name using errcode = 'restrict_violation';
      end $$`);
    for (const table of APPEND_ONLY_TABLES) {
      this.addSql(`create trigger ${table}_append_only before update or delete on ${table}
        for each row execute function refuse_change()`);
      this.addSql(`create trigger ${table}_no_truncate before truncate on ${table}
        for each statement execute function refuse_change()`);
    }
    // Row triggers reach partitions by themselves, statement triggers do not.
    for (const { table } of PARTITIONED_TABLES) {
      this.addSql(`create trigger ${table}_default_no_truncate before truncate on ${table}_default
        for each statement execute function refuse_change()`);
    }
  }
}
