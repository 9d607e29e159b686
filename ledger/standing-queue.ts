/** A queue that was long without a break for this time, ms, stands: until then it is a burst, and is taken. */
const BURST_MS = 250;

/** A queue that has refused nothing for this time, ms, may take a burst again. */
const CALM_MS = 1_000;

/**
 * Tells a burst, which a queue is for, from overload, where a long queue only makes everybody wait: once it stands it is
 * kept short until the overload is over. The idea is that of CoDel (RFC 8289).
 */
export class StandingQueue {
  #longSince: number | undefined;
  #refusedAt = Number.NEGATIVE_INFINITY;

  /**
   * Whether one more is to be refused.
   *
   * @param isLong whether it would wait longer than in a queue that is kept short
   * @param now ms of any clock that goes on
   */
  refuses(isLong: boolean, now: number): boolean {
    if (!isLong) {
      this.#longSince = undefined;
      return false;
    }
    this.#longSince ??= now;
    const stands = now - this.#longSince >= BURST_MS || now - this.#refusedAt < CALM_MS;
    if (stands) this.#refusedAt = now;
    return stands;
  }
}
