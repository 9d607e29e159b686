import { admitToWindows, RATE_LIMIT, type WindowState } from '../ledger/rate-window.ts';
import type { Db } from '../ledger/database.ts';
import { unavailable } from '../ledger/ingest-queue.ts';

/** A decision about one request, and what the RateLimit headers say. */
export interface RateDecision {
  readonly admitted: boolean;
  readonly remaining: number;
  /** Whole seconds until a request can be admitted again; at least 1 when this one was refused. */
  readonly resetSeconds: number;
}

/** Requests waiting for a decision at most; past it the answer is 503 at once. */
const WAITING = 8_192;

interface Ask {
  readonly credentialId: bigint;
  decide(decision: RateDecision): void;
  fail(error: unknown): void;
}

/**
 * The limit of 120 requests a minute per credential over all processes. Requests gather while a statement is in flight,
 * so one statement decides for all of a tick; a credential known to be exhausted is refused from memory until the
 * moment the database named. docs/decisions/0005-rate-limit.md
 */
export class RateLimiter {
  readonly #pool: () => Db;
  readonly #exhausted = new Map<bigint, number>();
  #waiting: Ask[] = [];
  #running = false;

  constructor(pool: () => Db) {
    this.#pool = pool;
  }

  /** @throws Refusal INGESTION_UNAVAILABLE when the database cannot be asked */
  admit(credentialId: bigint): Promise<RateDecision> {
    const freeAt = this.#exhausted.get(credentialId);
    if (freeAt !== undefined) {
      const waitMs = freeAt - performance.now();
      if (waitMs > 0) {
        return Promise.resolve({
          admitted: false,
          remaining: 0,
          resetSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
        });
      }
      this.#exhausted.delete(credentialId);
    }
    if (this.#waiting.length >= WAITING) return Promise.reject(unavailable());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ credentialId, decide: resolve, fail: reject });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const asks = this.#waiting;
      this.#waiting = [];
      await this.#decide(asks);
    }
    this.#running = false;
  }

  async #decide(asks: readonly Ask[]): Promise<void> {
    const wanted = new Map<bigint, number>();
    for (const { credentialId } of asks) {
      wanted.set(credentialId, (wanted.get(credentialId) ?? 0) + 1);
    }
    try {
      const windows = new Map<bigint, WindowState>();
      const decided = await admitToWindows(this.#pool(), wanted);
      // Counted from after the statement: a Retry-After answered from memory must never be too short.
      const answered = performance.now();
      for (const window of decided) {
        windows.set(window.credentialId, window);
        if (window.nextFreeMs > 0) {
          this.#exhausted.set(window.credentialId, answered + window.nextFreeMs);
        }
      }
      this.#answer(asks, windows);
    } catch (error: unknown) {
      for (const ask of asks) ask.fail(unavailable(error));
    }
  }

  #answer(asks: readonly Ask[], windows: ReadonlyMap<bigint, WindowState>): void {
    const given = new Map<bigint, number>();
    for (const ask of asks) {
      const window = windows.get(ask.credentialId);
      if (window === undefined) {
        ask.fail(unavailable());
        continue;
      }
      const order = (given.get(ask.credentialId) ?? 0) + 1;
      given.set(ask.credentialId, order);
      ask.decide({
        admitted: order <= window.granted,
        remaining: window.remaining,
        resetSeconds: Math.max(1, Math.ceil(window.nextFreeMs / 1000)),
      });
    }
  }

  /** Drops what is over; called now and then so that the memory of exhausted credentials cannot grow. */
  forgetExpired(): void {
    const now = performance.now();
    for (const [credentialId, freeAt] of this.#exhausted) {
      if (freeAt <= now) this.#exhausted.delete(credentialId);
    }
  }
}

/** RateLimit-Policy and RateLimit header values (draft-ietf-httpapi-ratelimit-headers). */
export function rateLimitHeaders(decision: RateDecision): Record<string, string> {
  return {
    'RateLimit-Policy': `"credential";q=${RATE_LIMIT};w=60`,
    RateLimit: `"credential";r=${decision.remaining};t=${decision.remaining > 0 ? 0 : decision.resetSeconds}`,
  };
}
