import { Migration } from '@mikro-orm/migrations';

/**
 * The window of 0003 without adding up its buckets at every request: `granted` now holds `used * 1000 + granted`, where
 * `used` is the sum of the buckets. Measured in docs/decisions/0005-rate-limit.md.
 *
 * The table stays as it is, and so does the function of 0003: while a deployment replaces processes, both count in the
 * same windows. A row last written by the older statement has `granted` below 1000 and is added up once.
 */
export class Migration0004RateWindowSum extends Migration {
  override name = '0004-rate-window-sum';

  override up(): void {
    this.addSql(`create function count_in_window(
        inout buckets bigint[], inout counted int, at_second bigint, wanted int, allowed int
      ) language plpgsql immutable as $$
      declare
        first int := 1;
        size int := cardinality(buckets);
        used int := counted / 1000;
        granted int;
      begin
        if used = 0 then
          used := (select coalesce(sum(bucket % 1000), 0) from unnest(buckets) as bucket);
        end if;
        while first <= size and buckets[first] / 1000 < at_second - 60 loop
          used := used - (buckets[first] % 1000)::int;
          first := first + 1;
        end loop;
        if first > 1 then
          buckets := buckets[first:size];
          size := size - first + 1;
        end if;
        granted := greatest(0, least(wanted, allowed - used));
        counted := (used + granted) * 1000 + granted;
        if granted = 0 then
          return;
        end if;
        -- A clock that stepped back must not reorder the window: count into the newest bucket instead.
        if size > 0 and buckets[size] / 1000 >= at_second then
          buckets[size] := buckets[size] + granted;
        else
          buckets := buckets || (at_second * 1000 + granted);
        end if;
      end $$`);
  }
}
