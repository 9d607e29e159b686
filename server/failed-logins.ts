import type { Clock } from '../ledger/clock.ts';
import type { Db } from '../ledger/database.ts';
import { closeFailedLogins, countFailedLogins } from '../ledger/failed-logins.ts';
import { networkOf } from './address-limiter.ts';

/** How often counts are written, ms. */
const FLUSH_MS = 2_000;

/** Addresses counted one by one between two writes; more of them share one row. */
const ADDRESSES = 100;

/** The row of all addresses beyond {@link ADDRESSES}. */
export const OTHER_ADDRESSES = 'other addresses';

/** After the last failure minutes are still closed for this long, ms. */
const CLOSING_MS = 120_000;

/** What it works with. */
export interface FailedLoginsOptions {
  readonly pool: () => Db;
  readonly clock: Clock;
  readonly onFault: (error: unknown) => void;
}

/**
 * Counts failed logins for the audit: one row per address and minute, however many there are, written in the
 * background. Memory and rows are bounded. What a process counted in its last two seconds is lost with a crash.
 */
export class FailedLogins {
  readonly #options: FailedLoginsOptions;
  #counts = new Map<string, number>();
  /** Minutes may be open until then: from the start, because an earlier process may have left some. */
  #openUntil = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

  constructor(options: FailedLoginsOptions) {
    this.#options = options;
  }

  /** Counts a failure; never waits. */
  record(address: string): void {
    const network = networkOf(address);
    const known = this.#counts.has(network) || this.#counts.size < ADDRESSES;
    const name = known ? network : OTHER_ADDRESSES;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    this.#openUntil = performance.now() + CLOSING_MS;
  }

  /** Begins writing. */
  start(): void {
    this.#timer ??= setInterval(() => void this.flush(), FLUSH_MS);
    this.#timer.unref();
  }

  /** Writes what was counted and ends. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#writing;
    await this.flush();
  }

  /** Writes what was counted and closes minutes that are over. Never throws: counts are kept for the next time. */
  flush(): Promise<void> {
    this.#writing ??= this.#write()
      .catch(this.#options.onFault)
      .finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  async #write(): Promise<void> {
    if (this.#counts.size === 0 && performance.now() > this.#openUntil) return;
    const db = this.#options.pool();
    const now = this.#options.clock.now();
    const counts = this.#counts;
    this.#counts = new Map();
    try {
      if (counts.size > 0) {
        const rows = [...counts].map(([address, failures]) => ({ address, failures }));
        await countFailedLogins(db, rows, now);
      }
    } catch (error: unknown) {
      for (const [name, count] of this.#counts) counts.set(name, (counts.get(name) ?? 0) + count);
      this.#counts = counts;
      throw error;
    }
    await closeFailedLogins(db, now);
    if (this.#openUntil === Infinity) this.#openUntil = performance.now() + CLOSING_MS;
  }
}
