import { run, type Db } from './database.ts';
import { bareArray } from './joined-texts.ts';
import { compare } from './ordering.ts';

/**
 * Locks the turns of Sites until the transaction ends: whoever changes their entity states does so one after the other.
 * One narrow row per Site instead of one per entity, always in the order of the Sites, so that two workers neither
 * dead-lock nor pay for thousands of row locks.
 *
 * Returns the Sites whose states the holder itself changed last: what it remembers of them is what is stored. Those
 * that never had a turn are not locked yet; {@link takeTurns} does.
 */
export async function lockTurns(
  db: Db,
  siteIds: readonly bigint[],
  holder: string,
): Promise<ReadonlySet<bigint>> {
  const { rows } = await run<{ site_id: string; mine: boolean }>(
    db,
    `select site_id, holder = $2::uuid as mine from evaluation_turn
     where site_id = any ($1::bigint[]) order by site_id for update`,
    [bareArray(siteIds), holder],
  );
  return new Set(rows.filter(({ mine }) => mine).map(({ site_id }) => BigInt(site_id)));
}

/** Makes the holder the one who changes the states of these Sites now. */
export async function takeTurns(db: Db, siteIds: readonly bigint[], holder: string): Promise<void> {
  if (siteIds.length === 0) return;
  await run(
    db,
    `insert into evaluation_turn (site_id, holder) select site_id, $2::uuid from unnest($1::bigint[]) as wanted (site_id)
     on conflict (site_id) do update set holder = excluded.holder`,
    [bareArray([...siteIds].sort(compare)), holder],
  );
}
