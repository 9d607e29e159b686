/**
 * The one source of time for everything that is stored or decided: received_at, label times, windows, expiry, quota
 * month. Injected, so that old traffic can be replayed. Durations are measured with performance.now() instead.
 */
export interface Clock {
  /** Milliseconds since 1970 UTC. */
  now(): number;
}

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() };
