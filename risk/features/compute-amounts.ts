import type { EntityKind } from '../entities.ts';
import type { RiskEvent } from '../event.ts';
import { featurePosition } from './definitions.ts';
import { squareSum } from './exact.ts';
import {
  AMOUNT_STRIDE,
  DAY_AMOUNT_STRIDE,
  type CurrencyAmounts,
  type EntityState,
} from './state.ts';
import { bucketOf, WINDOWS } from './windows.ts';

const [, HOUR_WINDOW, DAY_WINDOW, WEEK_WINDOW, MONTH_WINDOW] = WINDOWS;

/** Positions of the amount features of one entity kind, by window; -1 for one that it has not. */
export interface AmountPlan {
  /** Over 1 h, 24 h, 7 d, 30 d. */
  readonly count: readonly number[];
  readonly sum: readonly number[];
  readonly mean: readonly number[];
  /** Over 7 d, 30 d. */
  readonly max: readonly number[];
  readonly deviation: readonly number[];
  readonly maxRatio: readonly number[];
  readonly ratio: readonly number[];
  readonly z: readonly number[];
  readonly typical: number;
  readonly typicalRatio: number;
  /** Whether the kind has anything over less than 30 days. */
  readonly hasShort: boolean;
}

const FROM_HOUR = ['1h', '24h', '7d', '30d'];
const LONG = ['7d', '30d'];

/** Looks the positions up, once for each kind. */
export function amountPlan(kind: EntityKind): AmountPlan {
  const positions = (measure: string, windows: readonly string[]): number[] =>
    windows.map((window) => featurePosition(`${kind}_${measure}_${window}`) ?? -1);
  const count = positions('amount_count', FROM_HOUR);
  return {
    count,
    sum: positions('amount_sum', FROM_HOUR),
    mean: positions('amount_mean', FROM_HOUR),
    max: positions('amount_max', LONG),
    deviation: positions('amount_deviation', LONG),
    maxRatio: positions('amount_max_ratio', LONG),
    ratio: positions('amount_ratio', LONG),
    z: positions('amount_z', LONG),
    typical: featurePosition(`${kind}_amount_typical_30d`) ?? -1,
    typicalRatio: featurePosition(`${kind}_amount_typical_ratio_30d`) ?? -1,
    hasShort: (count[0] as number) >= 0,
  };
}

/** Beyond it a double has no thousandths to round. */
const LARGEST_ROUNDED = 2 ** 40;

/** Writes the amount features of one entity. */
export function writeAmounts(
  values: number[],
  plan: AmountPlan,
  state: EntityState | undefined,
  event: RiskEvent,
): void {
  for (let w = 0; w < 4; w++) {
    put(values, plan.count[w] as number, 0);
    put(values, plan.sum[w] as number, 0);
  }
  const history = state && amountsOf(state, event.facts.currency);
  if (history === undefined) return;
  if (plan.hasShort) {
    writeShort(values, plan, 0, history.fiveMinutes, bucketOf(event.at, 1), HOUR_WINDOW.buckets);
    writeShort(values, plan, 1, history.hours, bucketOf(event.at, 2), DAY_WINDOW.buckets);
    writeLong(values, plan, 0, history, event, WEEK_WINDOW.buckets);
  }
  writeLong(values, plan, 1, history, event, MONTH_WINDOW.buckets);
  if (plan.typical >= 0) writeTypical(values, plan, history, event, MONTH_WINDOW.buckets);
}

/** Reused, so that no event makes a row of its own. */
const dayMeans: number[] = [];

function writeTypical(
  values: number[],
  plan: AmountPlan,
  history: CurrencyAmounts,
  event: RiskEvent,
  length: number,
): void {
  const buckets = history.days;
  const to = bucketOf(event.at, 3);
  let days = 0;
  for (let b = 0; b < buckets.length; b += DAY_AMOUNT_STRIDE) {
    const number = buckets[b] as number;
    if (number < to - length || number > to) continue;
    const mean = (buckets[b + 2] as number) / (buckets[b + 1] as number);
    // Sorted as they come: a month has few days.
    let at = days++;
    while (at > 0 && (dayMeans[at - 1] as number) > mean) {
      dayMeans[at] = dayMeans[at - 1] as number;
      at--;
    }
    dayMeans[at] = mean;
  }
  if (days === 0) return;
  const typical = rounded(dayMeans[(days - 1) >> 1] as number);
  values[plan.typical] = typical;
  if (typical > 0) values[plan.typicalRatio] = rounded(event.facts.amount_minor / typical);
}

function put(values: number[], position: number, value: number): void {
  if (position >= 0) values[position] = value;
}

function amountsOf(state: EntityState, currency: string): CurrencyAmounts | undefined {
  for (const amounts of state.amounts) if (amounts.currency === currency) return amounts;
  return undefined;
}

function writeShort(
  values: number[],
  plan: AmountPlan,
  window: 0 | 1,
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
  values[plan.count[window] as number] = count;
  values[plan.sum[window] as number] = sum;
  if (count > 0) values[plan.mean[window] as number] = rounded(sum / count);
}

function writeLong(
  values: number[],
  plan: AmountPlan,
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
  put(values, plan.count[long + 2] as number, count);
  put(values, plan.sum[long + 2] as number, sum);
  if (count === 0) return;
  const amount = event.facts.amount_minor;
  const mean = rounded(sum / count);
  put(values, plan.mean[long + 2] as number, mean);
  put(values, plan.max[long] as number, max);
  if (max > 0) put(values, plan.maxRatio[long] as number, rounded(amount / max));
  if (mean > 0) put(values, plan.ratio[long] as number, rounded(amount / mean));
  if (count < 2) return;
  const variance = Math.max(0, squareSum(high, low) / count - mean * mean);
  const deviation = rounded(Math.sqrt(variance));
  put(values, plan.deviation[long] as number, deviation);
  // Without a floor a subscriber who always pays the same would look shocking one unit off.
  put(values, plan.z[long] as number, rounded((amount - mean) / Math.max(deviation, mean / 10, 1)));
}

/** To thousandths: finer digits say nothing, and every stored vector would carry them. `+ 0` makes -0 a plain 0. */
function rounded(value: number): number {
  return value < LARGEST_ROUNDED ? Math.round(value * 1000) / 1000 + 0 : value;
}
