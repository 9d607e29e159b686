import { Migration } from '@mikro-orm/migrations';

/**
 * Lets a statement refuse the whole transaction it stands in, so that a group commit can send its `commit` together with
 * its statements instead of waiting for their answers first (docs/decisions/0007-one-trip-group-commit.md).
 */
export class Migration0010RefuseCommit extends Migration {
  override name = '0010-refuse-commit';

  override up(): void {
    // Volatile, so that the planner never calls it ahead of the comparison that guards it.
    this
      .addSql(`create function refuse_commit(code text) returns integer language plpgsql volatile as $$
      begin
        raise exception 'the transaction is refused' using errcode = code;
      end $$`);
  }
}
