import type { HourlyTally } from './hourly-tally.ts';

/** The operation under which results are counted in `service_hour`. */
export const EVALUATION = 'evaluation';

/** The objective: 95 % of the results come within this time from acceptance, seconds. One of the classes below ends there. */
export const RESULT_LIMIT_SECONDS = 300;

/** Upper ends of the classes that the times from acceptance to result are counted in, seconds; the last has none. */
export const RESULT_SECONDS = [1, 5, 15, 60, 300, 1_800, Infinity] as const;

/** The name of a class as it is stored. */
export const resultClass = (seconds: number): string =>
  seconds === Infinity ? 'over 1800 s' : `within ${seconds} s`;

/** Counts how long the results of a batch took, by Site; one look into a map per event. Times in ms. */
export function tallyResults(
  tally: HourlyTally,
  rows: readonly { readonly siteId: bigint; readonly receivedAt: number }[],
  now: number,
): void {
  const bySite = new Map<bigint, number[]>();
  for (const { siteId, receivedAt } of rows) {
    let counts = bySite.get(siteId);
    if (counts === undefined) {
      counts = RESULT_SECONDS.map(() => 0);
      bySite.set(siteId, counts);
    }
    const seconds = (now - receivedAt) / 1000;
    const index = RESULT_SECONDS.findIndex((end) => seconds <= end);
    counts[index] = (counts[index] ?? 0) + 1;
  }
  for (const [siteId, counts] of bySite) {
    for (const [index, end] of RESULT_SECONDS.entries()) {
      const count = counts[index] ?? 0;
      if (count > 0) tally.add(siteId, now, EVALUATION, resultClass(end), count);
    }
  }
}
