import {
  admitToWindows,
  nextDecisions,
  RATE_LIMIT,
  type RateDecision,
} from '../ledger/rate-window.ts';
import type { Db } from '../ledger/database.ts';
import { gather } from '../ledger/gather.ts';
import { unavailable } from '../ledger/ingest-queue.ts';

/** Requests waiting for a decision at most; past it the answer is 503 at once. */
const WAITING = 8_192;

/**
 * The limit of 120 requests a minute per credential over all processes. Requests gather while a statement is in flight,
 * so one statement decides for all of a tick; a credential known to be exhausted is refused from memory until the
 * moment the database named. docs/decisions/0005-rate-limit.md
 */
export class RateLimiter {
  readonly #pool: () => Db;
  readonly #exhausted = new Map<bigint, number>();
  readonly #decided: (credentialId: bigint) => Promise<RateDecision>;

  constructor(pool: () => Db) {
    this.#pool = pool;
    this.#decided = gather({
      answer: (credentialIds) => this.#decide(credentialIds),
      lanes: 1,
      most: WAITING,
      waiting: WAITING,
    });
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
    return this.#decided(credentialId);
  }

  async #decide(credentialIds: readonly bigint[]): Promise<RateDecision[]> {
    const wanted = new Map<bigint, number>();
    for (const id of credentialIds) wanted.set(id, (wanted.get(id) ?? 0) + 1);
    const windows = await admitToWindows(this.#pool(), wanted).catch((error: unknown) => {
      throw unavailable(error);
    });
    // Counted from after the statement: a Retry-After answered from memory must never be too short.
    const answered = performance.now();
    for (const { credentialId, nextFreeMs } of windows) {
      if (nextFreeMs > 0) this.#exhausted.set(credentialId, answered + nextFreeMs);
    }
    const decide = nextDecisions(windows);
    return credentialIds.map((id) => {
      const decision = decide(id);
      if (decision === undefined) throw unavailable();
      return decision;
    });
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
