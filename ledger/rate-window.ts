import { plainArray } from './array-literals.ts';
import { CONTESTED } from './contested.ts';
import { run, type Db } from './database.ts';
import { compare } from './ordering.ts';

/** The contract's limit: requests in any rolling minute for one credential. */
export const RATE_LIMIT = 120;

/** A decision about one request, and what the RateLimit headers say. */
export interface RateDecision {
  readonly admitted: boolean;
  readonly remaining: number;
  /** Whole seconds until a request can be admitted again; at least 1 when this one was refused. */
  readonly resetSeconds: number;
}

/**
 * The rate limit's say on one request. Most events are admitted by the transaction that accepts them, which saves the
 * limit a statement and a wait of its own; until then `decision` is undefined.
 */
export class Admission {
  readonly credentialId: bigint;
  decision: RateDecision | undefined;

  constructor(credentialId: bigint) {
    this.credentialId = credentialId;
  }
}

/** One credential's window after a decision. Times relative to the moment the database decided. */
export interface WindowState {
  readonly credentialId: bigint;
  /** How many of the wanted requests were admitted. */
  readonly granted: number;
  readonly remaining: number;
  /** Milliseconds until one more request can be admitted; 0 if one could be now. */
  readonly nextFreeMs: number;
}

/**
 * Admits requests of many credentials in one statement, atomic per credential over all processes. The database's own
 * clock decides, so processes on different machines need not agree on the time. A refused request costs nothing.
 *
 * The column `granted` holds `used * 1000 + granted`, so that no decision adds up a window (migration 0004).
 *
 * @param shortage whether a window that cannot take all is told or undoes the transaction (`isContested`)
 */
export async function admitToWindows(
  db: Db,
  wanted: ReadonlyMap<bigint, number>,
  shortage: 'told' | 'refused' = 'told',
): Promise<WindowState[]> {
  const ids = [...wanted.keys()].sort(compare);
  const counts = ids.map((id) => wanted.get(id) ?? 0);
  const { rows } = await run<{
    credential_id: string;
    granted: number;
    used: number;
    oldest: string;
    now_ms: string;
  }>(
    db,
    `with clock as materialized (select extract(epoch from clock_timestamp()) as now),
     held as (
       insert into rate_window as held (credential_id, buckets, granted)
       select credential_id, array[floor(clock.now)::bigint * 1000 + least(wanted, $3::int)], least(wanted, $3::int) * 1001
       from clock, unnest($1::bigint[], $2::int[]) as request (credential_id, wanted)
       order by credential_id
       on conflict (credential_id) do update set (buckets, granted) = (
         select window_after.buckets, window_after.counted from count_in_window(
           held.buckets, held.granted, excluded.buckets[1] / 1000, excluded.granted % 1000, $3::int) as window_after
       )
       returning credential_id, granted % 1000 as granted, granted / 1000 as used, buckets[1] / 1000 as oldest
     )
     select held.*, (select now * 1000 from clock)::bigint as now_ms,
       case when sum(granted) over () >= $4::int then 0 else refuse_commit('${CONTESTED}') end
     from held`,
    [
      plainArray(ids),
      plainArray(counts),
      RATE_LIMIT,
      shortage === 'told' ? 0 : counts.reduce((sum, count) => sum + count, 0),
    ],
  );
  return rows.map(({ credential_id, granted, used, oldest, now_ms }) => ({
    credentialId: BigInt(credential_id),
    granted,
    remaining: Math.max(0, RATE_LIMIT - used),
    nextFreeMs: used < RATE_LIMIT ? 0 : Math.max(1, (Number(oldest) + 61) * 1000 - Number(now_ms)),
  }));
}

/**
 * Hands out what windows decided: of a credential's requests the first `granted` are admitted, in the order in which
 * they are asked for here. Undefined for a credential without a window.
 */
export function nextDecisions(
  windows: readonly WindowState[],
): (credentialId: bigint) => RateDecision | undefined {
  const left = new Map(windows.map((window) => [window.credentialId, { window, given: 0 }]));
  return (credentialId) => {
    const entry = left.get(credentialId);
    if (entry === undefined) return undefined;
    entry.given += 1;
    const { window, given } = entry;
    return {
      admitted: given <= window.granted,
      remaining: window.remaining,
      resetSeconds: Math.max(1, Math.ceil(window.nextFreeMs / 1000)),
    };
  };
}
