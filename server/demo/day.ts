import type { Random } from './random.ts';

/** Milliseconds. */
export const SECOND = 1_000;
/** Milliseconds. */
export const MINUTE = 60_000;
/** Milliseconds. */
export const HOUR = 3_600_000;
/** Milliseconds. */
export const DAY = 86_400_000;

/** The shops' clock, UTC+9 without summer time. */
const OFFSET = 9 * HOUR;

/** How busy each local hour is, 1 = an average morning: quiet nights, lunch, a long evening. */
const RHYTHM = [
  0.25, 0.14, 0.08, 0.06, 0.06, 0.1, 0.25, 0.55, 0.9, 1, 1.05, 1.2, 1.5, 1.3, 1.1, 1.05, 1.1, 1.25,
  1.5, 1.6, 1.5, 1.35, 1, 0.6,
] as const;

/** The local hours in which hardly anybody shops. */
const NIGHT_FROM = 23;
const NIGHT_UNTIL = 5;

/** The last 24 hours before a moment, with the rhythm of a day of shopping. All instants in ms since 1970 UTC. */
export class Day {
  readonly from: number;
  readonly to: number;

  constructor(to: number) {
    this.to = to;
    this.from = to - DAY;
  }

  includes(at: number): boolean {
    return at >= this.from && at < this.to;
  }

  /** An instant of the day, likelier where more people shop. */
  moment(random: Random, from: number = this.from, to: number = this.to): number {
    const busiest = Math.max(...RHYTHM);
    for (;;) {
      const at = Math.floor(random.between(from, to));
      if (random.next() * busiest < (RHYTHM[localHour(at)] ?? 0)) return at;
    }
  }

  /**
   * The latest stretch of `length` ms that lies in the night, so that most of the day comes before it; at whatever
   * hour the day ends.
   */
  lateNight(length: number): number {
    for (let from = this.to - length; from > this.from; from -= 10 * MINUTE) {
      if (isNight(from) && isNight(from + length)) return from;
    }
    return this.to - length;
  }
}

function isNight(at: number): boolean {
  const hour = localHour(at);
  return hour >= NIGHT_FROM || hour < NIGHT_UNTIL;
}

function localHour(at: number): number {
  return Math.floor(((at + OFFSET) % DAY) / HOUR);
}

/** The instant as the shops write it: ISO 8601 with their offset. */
export function localTime(at: number): string {
  return new Date(at + OFFSET).toISOString().replace('Z', '+09:00');
}
