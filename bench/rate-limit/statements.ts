import type { Client } from 'pg';

/** Seconds of traffic in a prepared window, one request each: a caller of 40 requests a minute, a third of the limit. */
export const USED = 40;

/** The window added up by the function of migration 0003 at every decision, all buckets answered. */
export const ADDED_UP = `with clock as materialized (select extract(epoch from clock_timestamp()) as now)
  insert into rate_window as held (credential_id, buckets, granted)
  select credential_id, array[floor(clock.now)::bigint * 1000 + least(wanted, $3::int)], least(wanted, $3::int)
  from clock, unnest($1::bigint[], $2::int[]) as request (credential_id, wanted)
  order by credential_id
  on conflict (credential_id) do update set (buckets, granted) = (
    select window_after.buckets, window_after.granted from admit_to_window(
      held.buckets, excluded.buckets[1] / 1000, excluded.granted, $3::int) as window_after
  )
  returning credential_id, granted, to_json(buckets) as buckets, (select now * 1000 from clock)::bigint as now_ms`;

/**
 * The window in plain SQL instead of a function, added up at every decision.
 */
export const PLAIN_SQL = `with clock as materialized (select extract(epoch from clock_timestamp()) as now)
  insert into rate_window as held (credential_id, buckets, granted)
  select credential_id, array[floor(clock.now)::bigint * 1000 + least(wanted, $3::int)], least(wanted, $3::int)
  from clock, unnest($1::bigint[], $2::int[]) as request (credential_id, wanted)
  order by credential_id
  on conflict (credential_id) do update set (buckets, granted) = (
    select case
        when room.granted = 0 then live.buckets
        when live.newest / 1000 >= excluded.buckets[1] / 1000
          then live.buckets[1:live.size - 1] || (live.newest + room.granted)
        else live.buckets || (excluded.buckets[1] / 1000 * 1000 + room.granted)
      end, room.granted
    from (
      select coalesce(array_agg(bucket), '{}') as buckets, coalesce(sum(bucket % 1000), 0)::int as used,
        max(bucket) as newest, count(*)::int as size
      from unnest(held.buckets) as bucket
      where bucket / 1000 >= excluded.buckets[1] / 1000 - 60
    ) as live, lateral (
      select greatest(0, least(excluded.granted, $3::int - live.used)) as granted
    ) as room
  )
  returning credential_id, granted, to_json(buckets) as buckets, (select now * 1000 from clock)::bigint as now_ms`;

/** Asks the function of {@link createSecondRows}. */
export const SECOND_ROWS = `select credential_id, granted, used, oldest, now_ms
  from admit_by_second($1::bigint[], $2::int[], $3::int)`;

/**
 * One row per credential and second, on an unlogged table. A function, because what others committed before the lock
 * was given is only seen by a statement that begins after it. Expired rows are left, as a sweeper would remove them.
 */
export async function createSecondRows(owner: Client, appRole: string): Promise<void> {
  await owner.query(
    `create unlogged table rate_second (
       credential_id bigint, second bigint, admitted int not null, primary key (credential_id, second)
     ) with (fillfactor = 70)`,
  );
  await owner.query(
    `create function admit_by_second(ids bigint[], wanted int[], allowed int)
       returns table (credential_id bigint, granted int, used int, oldest bigint, now_ms bigint) language plpgsql as $$
     #variable_conflict use_column
     declare
       now_is numeric;
       at_second bigint;
     begin
       perform pg_advisory_xact_lock(id) from unnest(ids) as id;
       now_is := extract(epoch from clock_timestamp());
       at_second := floor(now_is);
       return query
         with state as materialized (
           select id, least(w, allowed - coalesce(sum(held.admitted), 0))::int as room,
             coalesce(sum(held.admitted), 0)::int as used, coalesce(min(held.second), at_second) as oldest
           from unnest(ids, wanted) as request (id, w)
           left join rate_second held on held.credential_id = id and held.second >= at_second - 60
           group by id, w
         ), written as (
           insert into rate_second as held (credential_id, second, admitted)
           select id, at_second, room from state where room > 0 order by id
           on conflict (credential_id, second) do update set admitted = held.admitted + excluded.admitted
         )
         select id, greatest(room, 0), used + greatest(room, 0), oldest,
           (now_is * 1000)::bigint
         from state;
     end $$`,
  );
  await owner.query(`grant select, insert, update on rate_second to "${appRole}"`);
  await owner.query(
    `grant execute on function admit_by_second(bigint[], int[], int) to "${appRole}"`,
  );
}

/** Gives every credential a window as it stands after {@link USED} seconds of traffic. */
export async function fillWindows(owner: Client, ids: readonly string[]): Promise<void> {
  await owner.query(
    `insert into rate_window (credential_id, buckets, granted)
     select id, (select array_agg((second - back) * 1000 + 1 order by back desc) from generate_series(1, $2::int) as back), $2::int * 1000 + 1
     from unnest($1::bigint[]) as id, cast(floor(extract(epoch from clock_timestamp())) as bigint) as second`,
    [ids, USED],
  );
  await owner.query('vacuum analyze rate_window');
}

/** The same for the rows of {@link createSecondRows}. */
export async function fillSecondRows(owner: Client, ids: readonly string[]): Promise<void> {
  await owner.query(
    `insert into rate_second (credential_id, second, admitted)
     select id, floor(extract(epoch from clock_timestamp()))::bigint - back, 1
     from generate_series($2::int, 1, -1) as back, unnest($1::bigint[]) as id`,
    [ids, USED],
  );
  await owner.query('vacuum analyze rate_second');
}
