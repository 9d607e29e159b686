import { run, type Db } from './database.ts';

/** Events of a Site within an hour: all of them, or those that one rule had blocked. */
export interface BlockCount {
  readonly siteId: bigint;
  /** Empty: all events. */
  readonly ruleId: string;
  readonly events: number;
}

/** Hours are kept this long, ms: only the running one decides. */
const KEEP_MS = 48 * 3_600_000;

/** Adds counts to those of an hour (its first instant, ms) and returns the sums of these Sites, of all workers. */
export async function addBlockCounts(
  db: Db,
  hour: number,
  counts: readonly BlockCount[],
  siteIds: readonly bigint[],
): Promise<BlockCount[]> {
  const at = new Date(hour).toISOString();
  if (counts.length > 0) {
    await run(
      db,
      `insert into rule_block_hour as total (site_id, hour, rule_id, events)
       select site_id, $4::timestamptz, rule_id, events
       from unnest($1::bigint[], $2::text[], $3::bigint[]) as added (site_id, rule_id, events)
       order by site_id, rule_id
       on conflict (site_id, hour, rule_id) do update set events = total.events + excluded.events`,
      [
        counts.map(({ siteId }) => String(siteId)),
        counts.map(({ ruleId }) => ruleId),
        counts.map(({ events }) => events),
        at,
      ],
    );
  }
  const { rows } = await run<{ site_id: string; rule_id: string; events: string }>(
    db,
    `select site_id, rule_id, events from rule_block_hour
     where site_id = any ($1::bigint[]) and hour = $2::timestamptz`,
    [siteIds.map(String), at],
  );
  return rows.map((row) => ({
    siteId: BigInt(row.site_id),
    ruleId: row.rule_id,
    events: Number(row.events),
  }));
}

/** Notes that a cap holds a rule back in an hour; true for the one call that is the first, of all workers. */
export async function noteCapped(
  db: Db,
  capped: {
    readonly siteId: bigint;
    readonly ruleId: string;
    readonly hour: number;
    readonly at: number;
  },
): Promise<boolean> {
  const { affected } = await run(
    db,
    `insert into rule_block_hour as held (site_id, hour, rule_id, events, capped_at)
     select $1::bigint, $2::timestamptz, $3::text, 0, $4::timestamptz
     on conflict (site_id, hour, rule_id) do update set capped_at = excluded.capped_at where held.capped_at is null`,
    [
      capped.siteId,
      new Date(capped.hour).toISOString(),
      capped.ruleId,
      new Date(capped.at).toISOString(),
    ],
  );
  return affected === 1;
}

/** Removes hours that decide nothing any more. */
export async function forgetBlockCounts(db: Db, now: number): Promise<void> {
  await run(db, 'delete from rule_block_hour where hour < $1::timestamptz', [
    new Date(now - KEEP_MS).toISOString(),
  ]);
}
