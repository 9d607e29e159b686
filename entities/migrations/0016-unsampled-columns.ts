import { Migration } from '@mikro-orm/migrations';

/**
 * No samples of long values that nothing is looked up by: reading, sorting and compressing them was most of what keeping
 * statistics cost (docs/decisions/0008-evaluation-worker.md), and a sample may outlive the row it was taken from. Partitions
 * that exist follow their table; createPartitions sees to later ones.
 */
export class Migration0016UnsampledColumns extends Migration {
  override name = '0016-unsampled-columns';

  override up(): void {
    for (const [table, column] of [
      ['ingestion_payload', 'body'],
      ['evaluation', 'reasons'],
      ['evaluation', 'rule_scores'],
      ['evaluation_features', 'features'],
      ['entity_state', 'state'],
      ['webhook_event', 'body'],
      ['webhook_attempt', 'answer'],
      ['history_import_line', 'body'],
    ]) {
      this.addSql(`alter table ${table} alter column ${column} set statistics 0`);
    }
  }
}
