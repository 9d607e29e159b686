/** Share of a planned wait that is added at random, so that what failed together does not come back together. */
const JITTER = 0.2;

/**
 * How long to wait before the next attempt, ms, or undefined when the schedule is used up.
 *
 * The planned wait grows by up to 20 %. A receiver's Retry-After moves it, but never before the planned wait nor past
 * twice of it: neither a hurried nor an absurd answer changes the schedule by more.
 *
 * @param failures failed attempts of this delivery so far, this one included: 1 or more
 * @param waits WEBHOOK_RETRY_SECONDS
 * @param random 0 <= random < 1
 */
export function nextWait(
  failures: number,
  waits: readonly number[],
  options: { readonly retryAfterMs?: number | undefined; readonly random: number },
): number | undefined {
  const seconds = waits[failures - 1];
  if (seconds === undefined) return undefined;
  const planned = seconds * 1000;
  const wait = planned * (1 + JITTER * options.random);
  return Math.round(Math.min(Math.max(options.retryAfterMs ?? 0, wait), planned * 2));
}

/**
 * A Retry-After header (RFC 9110, section 10.2.3) as milliseconds from `now`; undefined for what is neither whole
 * seconds nor a date, 0 for a date that has passed.
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  const text = value?.trim() ?? '';
  // Past fifteen digits the number is absurd anyway, and would not be exact.
  if (/^\d+$/.test(text)) return Number(text.slice(0, 15)) * 1000;
  // An HTTP date in any of its three forms begins with the day's name; Date.parse alone would take almost anything.
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w :,-]{8,40}$/.test(text)) return undefined;
  const at = Date.parse(/(?:GMT|UTC)$/.test(text) ? text : `${text} GMT`);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
