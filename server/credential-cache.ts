import { API_KEY_PATTERN, hashApiKey } from '../ledger/api-key.ts';
import { unavailable } from '../ledger/ingest-queue.ts';
import type { Clock } from '../ledger/clock.ts';
import { findCredentials, readAuthVersion, type KnownCredential } from '../ledger/credentials.ts';
import type { Db } from '../ledger/database.ts';

/** How often the auth version is read, ms. */
const POLL_MS = 250;

/** A cache not confirmed for this long answers 503, ms: a revoked key must die within a second. */
const STALE_AFTER_MS = 1_000;

/** Keys remembered at most, known and unknown ones each: memory stays bounded under a flood of made-up keys. */
const REMEMBERED = 20_000;

/** What the cache works with. */
export interface CredentialCacheOptions {
  readonly pool: () => Db;
  readonly clock: Clock;
  readonly environment: 'both' | 'production' | 'sandbox';
  /** Told of every key that was accepted: SHA-256 of it as latin1. */
  readonly onAccepted?: (hash: string) => void;
}

/**
 * Answers which credential an API key belongs to, from memory. Any change to what decides authentication raises one
 * number in the database; every process reads it four times a second and forgets everything when it moved. Ends in time
 * (expiry, contract edges) are kept with each entry and need no message.
 */
export class CredentialCache {
  readonly #options: CredentialCacheOptions;
  readonly #known = new Map<string, KnownCredential>();
  readonly #unknown = new Set<string>();
  /** Keys that were found once: these may be looked up again whatever their address has done, also after a change. */
  readonly #familiar = new Set<string>();
  #version = '';
  #confirmedAt = -Infinity;
  #refreshing: Promise<void> | undefined;
  #lookup:
    { hashes: Map<string, Buffer>; found: Promise<Map<string, KnownCredential>> } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CredentialCacheOptions) {
    this.#options = options;
  }

  /** Begins polling. */
  start(): void {
    this.#timer ??= setInterval(() => void this.#refresh().catch(() => undefined), POLL_MS);
    this.#timer.unref();
  }

  /** Ends polling; a read under way is waited for. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#refreshing?.catch(() => undefined);
  }

  /**
   * The active credential behind an API key.
   *
   * @returns undefined for a key that is malformed, unknown, revoked, expired, of a Site that is not active, without a
   *   contract in force, or not of this listener's environment
   * @throws Refusal INGESTION_UNAVAILABLE when the database cannot be asked: a key that cannot be checked is never 401
   */
  async find(key: string, mayLookUp: () => boolean): Promise<KnownCredential | undefined> {
    if (!API_KEY_PATTERN.test(key)) return undefined;
    await this.#ensureFresh();
    const hash = hashApiKey(key);
    const name = hash.toString('latin1');
    let credential = this.#known.get(name);
    if (credential === undefined) {
      if (this.#unknown.has(name)) return undefined;
      if (!this.#familiar.has(name) && !mayLookUp()) return undefined;
      credential = await this.#load(name, hash);
    }
    if (credential === undefined || !this.#isActive(credential)) return undefined;
    this.#options.onAccepted?.(name);
    return credential;
  }

  #isActive(credential: KnownCredential): boolean {
    const { environment } = this.#options;
    if (environment !== 'both' && credential.environment !== environment) return false;
    const now = this.#options.clock.now();
    if (credential.revoked || credential.expiresAt <= now) return false;
    if (credential.environment === 'sandbox') return true;
    return (
      credential.siteActive &&
      credential.contracts.some((contract) => contract.from <= now && now < contract.until)
    );
  }

  async #ensureFresh(): Promise<void> {
    if (performance.now() - this.#confirmedAt < STALE_AFTER_MS) return;
    try {
      await this.#refresh();
    } catch (error: unknown) {
      throw unavailable(error);
    }
  }

  #refresh(): Promise<void> {
    this.#refreshing ??= this.#readVersion().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #readVersion(): Promise<void> {
    const asked = performance.now();
    const version = await readAuthVersion(this.#options.pool());
    if (version !== this.#version) {
      this.#known.clear();
      this.#unknown.clear();
      this.#lookup = undefined;
      this.#version = version;
    }
    this.#confirmedAt = asked;
  }

  /** Keys that arrive in the same turn of the event loop are looked up in one statement. */
  async #load(name: string, hash: Buffer): Promise<KnownCredential | undefined> {
    let lookup = this.#lookup;
    if (lookup === undefined) {
      const hashes = new Map<string, Buffer>();
      const version = this.#version;
      const found = new Promise<void>((resolve) => setImmediate(resolve)).then(async () => {
        if (this.#lookup?.hashes === hashes) this.#lookup = undefined;
        return this.#loadAll(hashes, version);
      });
      lookup = { hashes, found };
      this.#lookup = lookup;
    }
    lookup.hashes.set(name, hash);
    try {
      return (await lookup.found).get(name);
    } catch (error: unknown) {
      throw unavailable(error);
    }
  }

  async #loadAll(
    hashes: ReadonlyMap<string, Buffer>,
    version: string,
  ): Promise<Map<string, KnownCredential>> {
    const found = await findCredentials(this.#options.pool(), [...hashes.values()]);
    const byName = new Map<string, KnownCredential>();
    for (const [name, hash] of hashes) {
      const credential = found.get(hash.toString('hex'));
      if (credential !== undefined) {
        byName.set(name, credential);
        remember(this.#familiar, (set) => set.add(name));
      }
      // Read before a change that has become known meanwhile: good for this request, not for keeping.
      if (version !== this.#version) continue;
      if (credential === undefined) remember(this.#unknown, (set) => set.add(name));
      else remember(this.#known, (map) => map.set(name, credential));
    }
    return byName;
  }
}

/** Empties a full collection before adding: forgetting costs one look-up, bookkeeping would cost on each request. */
function remember<T extends { size: number; clear(): void }>(
  collection: T,
  add: (collection: T) => void,
): void {
  if (collection.size >= REMEMBERED) collection.clear();
  add(collection);
}
