const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * The bucket sizes in which an entity's history is counted, finest first. Buckets are aligned to 1970-01-01 UTC:
 * bucket number of an instant = floor(ms / size).
 *
 * `keep`: a bucket stays while its number is greater than (number of the newest event's bucket) - keep. That is the
 * longest window of the level, the running bucket, and room for late events: 1 min, 1 h, 24 h and 7 days late, they
 * still find their whole windows. Later than that, they see what is left, a lower bound.
 */
export const LEVELS = [
  { size: 10 * SECOND, keep: 13 },
  { size: 5 * MINUTE, keep: 25 },
  { size: HOUR, keep: 49 },
  { size: DAY, keep: 38 },
] as const;
/** Position in {@link LEVELS}. */
export type LevelIndex = 0 | 1 | 2 | 3;

/**
 * The windows of every feature. For an event at `t`, a window of `buckets` x size contains what was absorbed earlier
 * into the buckets floor(t / size) - buckets .. floor(t / size), both included: it reaches back by its nominal length
 * and on to the bucket edge before it. Nothing of a later bucket counts; the event itself never does, because it is
 * absorbed only after its judgement.
 */
export const WINDOWS = [
  { name: '1m', words: '1 minute', level: 0, buckets: 6 },
  { name: '1h', words: '1 hour', level: 1, buckets: 12 },
  { name: '24h', words: '24 hours', level: 2, buckets: 24 },
  { name: '7d', words: '7 days', level: 3, buckets: 7 },
  { name: '30d', words: '30 days', level: 3, buckets: 30 },
] as const satisfies readonly {
  name: string;
  words: string;
  level: LevelIndex;
  buckets: number;
}[];
/** Name of a window, as it ends a feature's name. */
export type WindowName = (typeof WINDOWS)[number]['name'];

/** Unit in which the latest sight of a counterpart is kept: it divides the buckets of every level. */
export const SIGHT_UNIT = LEVELS[0].size;

/** Number of the bucket of `level` that holds an instant (ms since 1970 UTC). */
export function bucketOf(at: number, level: LevelIndex): number {
  return Math.floor(at / LEVELS[level].size);
}

/** Number of the oldest bucket of `level` that is kept once `newest` (ms since 1970 UTC) has been absorbed. */
export function oldestKept(newest: number, level: LevelIndex): number {
  return bucketOf(newest, level) - LEVELS[level].keep + 1;
}
