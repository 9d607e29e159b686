/** Failures of one address in a rolling minute before further ones are refused. */
export const FAILURES_PER_MINUTE = 120;

const WINDOW_SECONDS = 60;

/** Addresses remembered at most; the ones longest without a failure are forgotten first. */
const REMEMBERED = 10_000;

/**
 * Bounds failed authentications per address, in this process's memory. Windows are counted in whole seconds as for
 * credentials. Memory is bounded: at most 10,000 addresses of at most 61 counts.
 */
export class AddressLimiter {
  readonly #failures = new Map<string, Map<number, number>>();

  /** Counts a failure. */
  record(address: string, second = nowSecond()): void {
    const counts = this.#failures.get(address) ?? new Map<number, number>();
    counts.set(second, (counts.get(second) ?? 0) + 1);
    for (const old of counts.keys()) {
      if (old < second - WINDOW_SECONDS) counts.delete(old);
      else break;
    }
    // Deleting and setting again moves the address to the end of the map: the front is the longest quiet.
    this.#failures.delete(address);
    this.#failures.set(address, counts);
    if (this.#failures.size > REMEMBERED) {
      const oldest = this.#failures.keys().next();
      if (oldest.done !== true) this.#failures.delete(oldest.value);
    }
  }

  /** Seconds until the address may fail again; 0 if it may now. */
  blockedFor(address: string, second = nowSecond()): number {
    const counts = this.#failures.get(address);
    if (counts === undefined) return 0;
    let total = 0;
    let oldest = second;
    for (const [at, count] of counts) {
      if (at < second - WINDOW_SECONDS) continue;
      total += count;
      oldest = Math.min(oldest, at);
    }
    return total < FAILURES_PER_MINUTE ? 0 : Math.max(1, oldest + WINDOW_SECONDS + 1 - second);
  }
}

const nowSecond = (): number => Math.floor(performance.now() / 1000);
