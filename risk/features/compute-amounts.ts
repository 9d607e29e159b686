import type { RiskEvent } from '../event.ts';
import { squareSum } from './exact.ts';
import {
  AMOUNT_STRIDE,
  DAY_AMOUNT_STRIDE,
  type CurrencyAmounts,
  type EntityState,
} from './state.ts';
import { bucketOf, WINDOWS } from './windows.ts';

const [, HOUR_WINDOW, DAY_WINDOW, WEEK_WINDOW, MONTH_WINDOW] = WINDOWS;

/**
 * Offsets from the position of `amount_count_1h`, in the order of the definitions: count, sum and mean over 1 h, 24 h,
 * 7 d and 30 d, then largest, deviation, ratio and z over 7 d and 30 d.
 */
const COUNT = 0;
const SUM = 4;
const MEAN = 8;
const MAX = 12;
const DEVIATION = 14;
const RATIO = 16;
const Z = 18;

/** Beyond it a double has no thousandths to round. */
const LARGEST_ROUNDED = 2 ** 40;

/** Writes the amount features of one entity; `first` is the position of its `amount_count_1h`. */
export function writeAmounts(
  values: number[],
  first: number,
  state: EntityState | undefined,
  event: RiskEvent,
): void {
  const history = state && amountsOf(state, event.facts.currency);
  values.fill(0, first + COUNT, first + MEAN);
  if (history === undefined) return;
  writeShort(values, first, history.fiveMinutes, bucketOf(event.at, 1), HOUR_WINDOW.buckets);
  writeShort(values, first + 1, history.hours, bucketOf(event.at, 2), DAY_WINDOW.buckets);
  writeLong(values, first + 2, first, 0, history, event, WEEK_WINDOW.buckets);
  writeLong(values, first + 3, first, 1, history, event, MONTH_WINDOW.buckets);
}

function amountsOf(state: EntityState, currency: string): CurrencyAmounts | undefined {
  for (const amounts of state.amounts) if (amounts.currency === currency) return amounts;
  return undefined;
}

function writeShort(
  values: number[],
  at: number,
  buckets: readonly number[],
  to: number,
  length: number,
): void {
  let count = 0;
  let sum = 0;
  for (let b = buckets.length - AMOUNT_STRIDE; b >= 0; b -= AMOUNT_STRIDE) {
    const number = buckets[b] as number;
    if (number < to - length) break;
    if (number > to) continue;
    count += buckets[b + 1] as number;
    sum += buckets[b + 2] as number;
  }
  values[at + COUNT] = count;
  values[at + SUM] = sum;
  if (count > 0) values[at + MEAN] = rounded(sum / count);
}

function writeLong(
  values: number[],
  at: number,
  first: number,
  long: 0 | 1,
  history: CurrencyAmounts,
  event: RiskEvent,
  length: number,
): void {
  const buckets = history.days;
  const to = bucketOf(event.at, 3);
  let count = 0;
  let sum = 0;
  let max = 0;
  let high = 0;
  let low = 0;
  for (let b = buckets.length - DAY_AMOUNT_STRIDE; b >= 0; b -= DAY_AMOUNT_STRIDE) {
    const number = buckets[b] as number;
    if (number < to - length) break;
    if (number > to) continue;
    count += buckets[b + 1] as number;
    sum += buckets[b + 2] as number;
    max = Math.max(max, buckets[b + 3] as number);
    high += buckets[b + 4] as number;
    low += buckets[b + 5] as number;
  }
  values[at + COUNT] = count;
  values[at + SUM] = sum;
  if (count === 0) return;
  const amount = event.facts.amount_minor;
  const mean = rounded(sum / count);
  values[at + MEAN] = mean;
  values[first + MAX + long] = max;
  if (mean > 0) values[first + RATIO + long] = rounded(amount / mean);
  if (count < 2) return;
  const variance = Math.max(0, squareSum(high, low) / count - mean * mean);
  const deviation = rounded(Math.sqrt(variance));
  values[first + DEVIATION + long] = deviation;
  // Without a floor a subscriber who always pays the same would look shocking one unit off.
  values[first + Z + long] = rounded((amount - mean) / Math.max(deviation, mean / 10, 1));
}

/** To thousandths: finer digits say nothing, and every stored vector would carry them. `+ 0` makes -0 a plain 0. */
function rounded(value: number): number {
  return value < LARGEST_ROUNDED ? Math.round(value * 1000) / 1000 + 0 : value;
}
