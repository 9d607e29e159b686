/**
 * The value below which a share of the samples lies (nearest-rank method: always one of the samples).
 *
 * @param sorted ascending
 * @param share  0..1
 * @returns NaN when there are no samples
 */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  if (sorted.length === 0) return Number.NaN;
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  return sorted[Math.min(rank, sorted.length) - 1] ?? Number.NaN;
}

/** The middle of the values; of an even number, the mean of the two in the middle. NaN when there are none. */
export function median(values: readonly number[]): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** One measurement over time; `x` and `y` in the caller's units. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Slope of the least-squares line through the points, in y per x; 0 for fewer than two different x. */
export function slope(points: readonly Point[]): number {
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  let above = 0;
  let below = 0;
  for (const { x, y } of points) {
    above += (x - meanX) * (y - meanY);
    below += (x - meanX) ** 2;
  }
  return below > 0 ? above / below : 0;
}

/** Latencies of one phase, ms. */
export interface Latencies {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Summarises latencies in ms; NaN everywhere when there are none. */
export function summarise(samples: readonly number[]): Latencies {
  const sorted = Float64Array.from(samples).sort();
  return {
    p50: percentile(sorted, 0.5),
    p95: percentile(sorted, 0.95),
    p99: percentile(sorted, 0.99),
    max: percentile(sorted, 1),
  };
}
