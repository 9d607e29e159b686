import { Migration } from '@mikro-orm/migrations';

/**
 * The sliding window of one credential as one array: `second * 1000 + admitted in that second`, oldest first.
 *
 * A request at second s is admitted while the buckets s-60 .. s hold fewer than the limit. 61 buckets, because the
 * oldest may reach into the last 60 seconds: never more than the limit in any rolling minute, at the price that
 * a caller may wait up to one second longer than a perfect window would ask.
 */
export class Migration0003RateLimit extends Migration {
  override name = '0003-rate-limit';

  override up(): void {
    this.addSql(`create function admit_to_window(
        inout buckets bigint[], at_second bigint, wanted int, allowed int, out granted int
      ) language plpgsql immutable as $$
      declare
        first int := 1;
        used int := 0;
        size int := coalesce(array_length(buckets, 1), 0);
      begin
        while first <= size and buckets[first] / 1000 < at_second - 60 loop
          first := first + 1;
        end loop;
        for i in first .. size loop
          used := used + (buckets[i] % 1000)::int;
        end loop;
        granted := greatest(0, least(wanted, allowed - used));
        buckets := buckets[first:size];
        if granted = 0 then
          return;
        end if;
        size := coalesce(array_length(buckets, 1), 0);
        -- A clock that stepped back must not reorder the window: count into the newest bucket instead.
        if size > 0 and buckets[size] / 1000 >= at_second then
          buckets[size] := buckets[size] + granted;
        else
          buckets := buckets || (at_second * 1000 + granted);
        end if;
      end $$`);
  }
}
