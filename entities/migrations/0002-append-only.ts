import { Migration } from '@mikro-orm/migrations';
import { appendOnly } from './append-only.ts';

/** What was append-only when this was released; tables that came later bring their own triggers. */
const TABLES = [
  'ingestion',
  'ingestion_payload',
  'idempotency_key',
  'outcome_label',
  'evaluation',
  'evaluation_features',
  'evaluation_attempt',
  'entity_label',
  'dead_letter',
  'dead_letter_resolution',
  'gate_record',
  'audit_entry',
];

/** What was partitioned then. */
const PARTITIONED = ['ingestion_payload', 'evaluation_features'];

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
    for (const table of TABLES) {
      for (const statement of appendOnly(table)) this.addSql(statement);
    }
    // Row triggers reach partitions by themselves, statement triggers do not.
    for (const table of PARTITIONED) {
      this.addSql(`create trigger ${table}_default_no_truncate before truncate on ${table}_default
        for each statement execute function refuse_change()`);
    }
  }
}
