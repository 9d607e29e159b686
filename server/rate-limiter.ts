import {
  admitToWindows,
  nextDecisions,
  RATE_LIMIT,
  type RateDecision,
} from '../ledger/rate-window.ts';
import type { Db } from '../ledger/database.ts';
import { unavailable } from '../ledger/ingest-queue.ts';

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

  /** The refusal of a credential that is known to be exhausted: it needs no look into the database. */
  refusalOf(credentialId: bigint): RateDecision | undefined {
    const freeAt = this.#exhausted.get(credentialId);
    if (freeAt === undefined) return undefined;
    const waitMs = freeAt - performance.now();
    if (waitMs > 0) {
      return {
        admitted: false,
        remaining: 0,
        resetSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
      };
    }
    this.#exhausted.delete(credentialId);
    return undefined;
  }

  /** @throws Refusal INGESTION_UNAVAILABLE when the database cannot be asked */
  admit(credentialId: bigint): Promise<RateDecision> {
    const refusal = this.refusalOf(credentialId);
    if (refusal !== undefined) return Promise.resolve(refusal);
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
      const windows = await admitToWindows(this.#pool(), wanted);
      // Counted from after the statement: a Retry-After answered from memory must never be too short.
      const answered = performance.now();
      for (const { credentialId, nextFreeMs } of windows) {
        if (nextFreeMs > 0) this.#exhausted.set(credentialId, answered + nextFreeMs);
      }
      const decide = nextDecisions(windows);
      for (const ask of asks) {
        const decision = decide(ask.credentialId);
        if (decision === undefined) ask.fail(unavailable());
        else ask.decide(decision);
      }
    } catch (error: unknown) {
      for (const ask of asks) ask.fail(unavailable(error));
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
