import { Loop } from '../jobs/loop.ts';
import type { Clock } from '../ledger/clock.ts';
import type { Db } from '../ledger/database.ts';
import { recordKeyUse } from '../ledger/key-use.ts';

/** How often a process writes which keys it has seen, ms: one statement, however many requests there were. */
const FLUSH_MS = 60_000;

/** What is needed to remember the last use of keys. */
export interface KeyUseOptions {
  readonly pool: () => Db;
  readonly clock: Clock;
  readonly onFault: (error: unknown) => void;
}

/** Remembers when each API key was last accepted here, and writes it down once a minute: a request costs no write. */
export class KeyUse {
  readonly #options: KeyUseOptions;
  readonly #loop: Loop;
  /** By hash as latin1, since a Buffer is no key of a map. */
  #seen = new Map<string, number>();

  constructor(options: KeyUseOptions) {
    this.#options = options;
    this.#loop = new Loop({
      everyMs: FLUSH_MS,
      work: () => this.flush(),
      onFault: options.onFault,
    });
  }

  /** Notes that a key was accepted now. @param hash SHA-256 of the key, as latin1 */
  note(hash: string): void {
    this.#seen.set(hash, this.#options.clock.now());
  }

  /** Begins to write. */
  start(): void {
    this.#loop.start();
  }

  /** Writes what is left and ends. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.flush();
  }

  /** Writes what was seen since the last time; after a failure it is kept for the next. */
  async flush(): Promise<void> {
    const seen = this.#seen;
    this.#seen = new Map();
    try {
      await recordKeyUse(
        this.#options.pool(),
        [...seen].map(([hash, usedAt]) => ({ keyHash: Buffer.from(hash, 'latin1'), usedAt })),
      );
    } catch (error: unknown) {
      for (const [hash, usedAt] of this.#seen) seen.set(hash, usedAt);
      this.#seen = seen;
      throw error;
    }
  }
}
