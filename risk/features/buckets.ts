/**
 * A sparse row of buckets in one flat array, ascending: [number, cell, cell, ..., number, cell, ...], `stride` values
 * per bucket. Flat, because a million small objects cost more to allocate and to encode than to count.
 */
export type Buckets = number[];

/**
 * Finds the cells of a bucket, making an empty bucket where there is none.
 *
 * @returns position of the bucket's number in the array; its cells follow
 */
export function bucketAt(buckets: Buckets, stride: number, number: number): number {
  // Events come nearly in order, so the last bucket is nearly always the one.
  let at = buckets.length - stride;
  while (at >= 0 && (buckets[at] as number) > number) at -= stride;
  if (at >= 0 && buckets[at] === number) return at;
  at += stride;
  if (at === buckets.length) {
    buckets.push(number);
    for (let cell = 1; cell < stride; cell++) buckets.push(0);
    return at;
  }
  const empty = Array.from({ length: stride }, () => 0);
  empty[0] = number;
  buckets.splice(at, 0, ...empty);
  return at;
}

/** Drops the buckets below `oldest`. */
export function dropBefore(buckets: Buckets, stride: number, oldest: number): void {
  let at = 0;
  while (at < buckets.length && (buckets[at] as number) < oldest) at += stride;
  if (at > 0) buckets.splice(0, at);
}

/** Position of the first bucket with a number >= `from`; the array's length where there is none. */
export function firstFrom(buckets: Buckets, stride: number, from: number): number {
  let at = buckets.length;
  while (at > 0 && (buckets[at - stride] as number) >= from) at -= stride;
  return at;
}
