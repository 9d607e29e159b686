import type { EndpointHealth } from '../../ledger/webhook-health.ts';

/** What attempts have shown about one endpoint since its health was written last. */
export interface Experience {
  /** Failures after the last success among them. */
  readonly failures: number;
  readonly firstFailureAt: number | undefined;
  readonly lastFailureAt: number | undefined;
  readonly lastSuccessAt: number | undefined;
}

/** An endpoint of which nothing is known. */
export const UNKNOWN_HEALTH: EndpointHealth = {
  failuresInRow: 0,
  failingSince: undefined,
  breaker: 'CLOSED',
  probeAt: undefined,
  lastSuccessAt: undefined,
  lastFailureAt: undefined,
};

/** Failures in a row after which an endpoint is spared. */
export const OPENS_AFTER = 10;

/** Shortest and longest time for which an endpoint is spared before it is tried again, ms. */
const SPARED_MS = { least: 5_000, most: 300_000 };

/** Share of the time it has been failing for which an endpoint is spared: the longer it is down, the rarer the probes. */
const SPARED_SHARE = 0.25;

/** Nothing but failures for this long, ms, and the endpoint is disabled. */
export const GIVEN_UP_AFTER_MS = 5 * 86_400_000;

/**
 * The health of an endpoint after new experience.
 *
 * @param random 0 <= random < 1, spreads the probes of endpoints that failed together
 */
export function nextHealth(
  health: EndpointHealth,
  seen: Experience,
  now: number,
  random: number,
): EndpointHealth {
  const succeeded = seen.lastSuccessAt !== undefined;
  const failuresInRow = (succeeded ? 0 : health.failuresInRow) + seen.failures;
  const failingSince =
    failuresInRow === 0
      ? undefined
      : succeeded
        ? seen.firstFailureAt
        : (health.failingSince ?? seen.firstFailureAt);
  const common = {
    failuresInRow,
    failingSince,
    lastSuccessAt: seen.lastSuccessAt ?? health.lastSuccessAt,
    lastFailureAt: seen.lastFailureAt ?? health.lastFailureAt,
  };
  const failing = failuresInRow >= OPENS_AFTER || (!succeeded && health.breaker !== 'CLOSED');
  if (!failing) {
    // What is held goes out now that the endpoint answers again.
    const reopened = health.breaker !== 'CLOSED';
    return { ...common, breaker: 'CLOSED', probeAt: reopened ? now : health.probeAt };
  }
  // Attempts that were under way when the breaker opened say nothing new about when to try again.
  if (health.breaker === 'OPEN') return { ...common, breaker: 'OPEN', probeAt: health.probeAt };
  const spared = Math.min(
    Math.max((now - (failingSince ?? now)) * SPARED_SHARE, SPARED_MS.least),
    SPARED_MS.most,
  );
  return { ...common, breaker: 'OPEN', probeAt: Math.round(now + spared * (0.9 + 0.2 * random)) };
}

/** True when an endpoint has done nothing but fail for five days, and not just twice. */
export function isGivenUp(health: EndpointHealth, now: number): boolean {
  return (
    health.failuresInRow >= OPENS_AFTER &&
    health.failingSince !== undefined &&
    now - health.failingSince >= GIVEN_UP_AFTER_MS
  );
}
