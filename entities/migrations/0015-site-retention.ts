import { Migration } from '@mikro-orm/migrations';

/**
 * A Site may keep payloads and features for a shorter time than the service. Its rows lie in the partitions of all Sites,
 * so they are deleted, which the append-only guard lets happen for exactly those rows: of such a Site, in these tables, and
 * older than it keeps them. `payload_expired_to`: everything before it has been deleted.
 */
export class Migration0015SiteRetention extends Migration {
  override name = '0015-site-retention';

  override up(): void {
    this.addSql(`alter table site
      add column payload_retention_days integer check (payload_retention_days between 30 and 3660),
      add column payload_expired_to timestamptz(3)`);
    // The fields of a row are only looked at in the tables that have them.
    this.addSql(`create or replace function refuse_change() returns trigger language plpgsql as $$
      declare
        happened timestamptz;
      begin
        if tg_op = 'DELETE' then
          if tg_table_name ~ '^ingestion_payload(_|$)' then
            happened := old.received_at;
          elsif tg_table_name ~ '^(evaluation_features|model_shadow_score|rule_shadow_difference)(_|$)' then
            happened := old.evaluated_at;
          end if;
          if happened is not null then
            if happened < now() - (select make_interval(days => payload_retention_days) from site where id = old.site_id) then
              return old;
            end if;
          end if;
        end if;
        raise exception 'table % is append-only', tg_table_name using errcode = 'restrict_violation';
      end $$`);
  }
}
