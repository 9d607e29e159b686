/**
 * Trees are grown on features cut into at most {@link MAX_BINS} bins: one byte for each value instead of eight, and a
 * split is found by adding up bins instead of sorting rows.
 */

/** Bins of one feature: bin 0 holds absent values and what lies below the first edge. */
export const MAX_BINS = 64;

/** For each feature its edges, ascending: bin b holds edges[b - 1] <= value < edges[b]. Empty: the feature says nothing. */
export type Edges = readonly Float64Array[];

/** Shares of the sample below which an edge is tried: even steps, and finer ones in both tails, where fraud hides. */
const LEVELS = (() => {
  const levels: number[] = [];
  const tail = [2 ** -13, 2 ** -12, 2 ** -11, 2 ** -10, 2 ** -9, 2 ** -8, 2 ** -7];
  const steps = MAX_BINS - 2 - 2 * tail.length;
  for (let step = 1; step <= steps; step++) levels.push(step / (steps + 1));
  return [...tail, ...levels, ...tail.map((share) => 1 - share)].sort((a, b) => a - b);
})();

/**
 * Edges from a sample: between all different values where they are few, else at shares of the sample.
 *
 * @param columns  the values of each feature, NaN where one is absent; they are put in order
 */
export function findEdges(columns: readonly Float64Array[]): Edges {
  return columns.map((column) => {
    // Absent values come last.
    const sorted = column.sort();
    let count = sorted.length;
    while (count > 0 && Number.isNaN(sorted[count - 1])) count--;
    return edgesOf(sorted.subarray(0, count), count < sorted.length);
  });
}

function edgesOf(sorted: Float64Array, isSometimesAbsent: boolean): Float64Array {
  if (sorted.length === 0) return new Float64Array(0);
  const distinct = sorted.filter((value, at) => at === 0 || value !== sorted[at - 1]);
  const candidates =
    distinct.length < MAX_BINS - 1
      ? distinct.subarray(1)
      : LEVELS.map((level) => sorted[Math.floor(level * sorted.length)] as number);
  const edges: number[] = [];
  // Absent is told from present by an edge below everything.
  if (isSometimesAbsent) edges.push(-Number.MAX_VALUE);
  let at = 0;
  for (const value of candidates) {
    while ((distinct[at] as number) < value) at++;
    if (at === 0) continue;
    const edge = between(distinct[at - 1] as number, distinct[at] as number);
    if (edge > (edges.at(-1) ?? -Infinity)) edges.push(edge);
  }
  return Float64Array.from(edges);
}

/** A number that is above `low` and not above `high`, in their middle where doubles lie between them. */
function between(low: number, high: number): number {
  const middle = low + (high - low) / 2;
  return middle > low && Number.isFinite(middle) ? middle : high;
}

/** Bin of a value. */
export function binOf(edges: Float64Array, value: number): number {
  // NaN fails every comparison and ends in bin 0.
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (value >= (edges[middle] as number)) low = middle + 1;
    else high = middle;
  }
  return low;
}
