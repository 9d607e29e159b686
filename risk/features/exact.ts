/**
 * Sums that come out the same in whatever order their parts are added, so that a rebuilt state equals the lived one.
 * Floating-point sums do not; BigInt does, at three times the cost of everything else an event needs.
 */

const LIMB = 2 ** 40;
const HALF = 2 ** 20;
/** Amounts at or above this count as this in squares: 70 million million minor units. */
const LARGEST_SQUARED = 2 ** 46 - 1;

/** Sum of two integers >= 0, stopping at 2^53 - 1. */
export function addSaturating(a: number, b: number): number {
  const sum = a + b;
  return sum > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : sum;
}

/**
 * Adds the square of an amount to a sum of squares held in two cells, high x 2^40 + low, low < 2^40. Stops at
 * high = 2^53 - 1.
 *
 * @param at  position of the high cell; the low cell follows
 */
export function addSquare(cells: number[], at: number, amount: number): void {
  const value = Math.min(amount, LARGEST_SQUARED);
  const upper = Math.floor(value / HALF);
  const lower = value - upper * HALF;
  const lowerSquare = lower * lower;
  const carried = Math.floor(lowerSquare / HALF);
  // (upper 2^20 + lower)^2 = upper^2 2^40 + (2 upper lower) 2^20 + lower^2; every term here stays below 2^53.
  const middle = 2 * upper * lower + carried;
  const middleHigh = Math.floor(middle / HALF);
  const low =
    (cells[at + 1] as number) + (middle - middleHigh * HALF) * HALF + lowerSquare - carried * HALF;
  const carry = low >= LIMB ? 1 : 0;
  const high = (cells[at] as number) + upper * upper + middleHigh + carry;
  const isFull = high >= Number.MAX_SAFE_INTEGER;
  cells[at] = isFull ? Number.MAX_SAFE_INTEGER : high;
  cells[at + 1] = isFull ? 0 : low - carry * LIMB;
}

/** The value of such a pair as a floating-point number. */
export function squareSum(high: number, low: number): number {
  return high * LIMB + low;
}
