import { run, type Db } from './database.ts';

/** Failed logins of one address. */
export interface FailedLoginCount {
  readonly address: string;
  readonly failures: number;
}

const MINUTE_MS = 60_000;

/** How long after its end a minute is closed, ms: what other processes counted in it is in by then. */
const SETTLING_MS = 10_000;

/** Failures of an address in a minute from which operators are told, too. */
const NOTABLE_FAILURES = 120;

const minuteOf = (at: number): string =>
  new Date(Math.floor(at / MINUTE_MS) * MINUTE_MS).toISOString();

/** Adds counts of one process to the minute of `at` (ms). */
export async function countFailedLogins(
  db: Db,
  counts: readonly FailedLoginCount[],
  at: number,
): Promise<void> {
  // Sorted, so that two processes never wait for each other.
  const sorted = counts.toSorted((a, b) => (a.address < b.address ? -1 : 1));
  await run(
    db,
    `insert into failed_login (minute, address, failures)
     select $1::timestamptz, address, failures
     from unnest($2::text[], $3::bigint[]) as counted (address, failures)
     on conflict (minute, address) do update set failures = failed_login.failures + excluded.failures`,
    [minuteOf(at), sorted.map(({ address }) => address), sorted.map(({ failures }) => failures)],
  );
}

/**
 * Turns every minute that is over at `at` (ms) into one audit row per address, and tells operators of addresses that
 * failed too often. Safe to run in every process: a row is moved once.
 */
export async function closeFailedLogins(db: Db, at: number): Promise<void> {
  await run(
    db,
    `with closed as (
       delete from failed_login where minute < $1::timestamptz returning minute, address, failures
     ), told as (
       insert into operator_event (site_id, kind, subject, detail, at)
       select 0, 'failed_logins', address, jsonb_build_object('failures', failures), minute
       from closed where failures >= $2
     )
     insert into audit_entry (at, actor, address, procedure, after)
     select minute, 'unknown', address, 'login', jsonb_build_object('failures', failures) from closed
     on conflict (address, at) where procedure = 'login' do nothing`,
    [minuteOf(at - SETTLING_MS), NOTABLE_FAILURES],
  );
}
