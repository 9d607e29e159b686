/** The contract's limit (section 8), and what the gateway may round up: one more second. */
const LIMIT = 120;
const WINDOW_MS = 61_000;

/** Keeps one credential below the rate limit, by what was sent and by what the gateway says is left. */
export class Pace {
  #sent: number[] = [];
  #freeAt = 0;

  /** Milliseconds to wait before the next call; 0 when it may go at once. @param now a steady clock, ms */
  waitMs(now: number): number {
    this.#sent = this.#sent.filter((at) => at > now - WINDOW_MS);
    const oldest = this.#sent[this.#sent.length - LIMIT];
    return Math.max(0, this.#freeAt - now, oldest === undefined ? 0 : oldest + WINDOW_MS - now);
  }

  /** Counts a call. */
  sent(now: number): void {
    this.#sent.push(now);
  }

  /** The gateway asked for a pause of so many seconds, or said that nothing is left for that long. */
  pause(now: number, seconds: number): void {
    this.#freeAt = Math.max(this.#freeAt, now + seconds * 1000);
  }
}
