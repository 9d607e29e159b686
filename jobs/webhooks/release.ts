import type { PgBoss } from 'pg-boss';
import type { Clock } from '../../ledger/clock.ts';
import type { Db } from '../../ledger/database.ts';
import type { Transaction } from '../../ledger/transactions.ts';
import {
  countSpared,
  lockDueEndpoints,
  lookAtHeld,
  writeHealth,
  type DueEndpoint,
} from '../../ledger/webhook-health.ts';
import { countDue, failHeld, findHeldOfDisabled, releaseHeld } from '../../ledger/webhook-held.ts';
import { requeueDeliveries } from '../enqueue-webhooks.ts';
import { Loop } from '../loop.ts';

/** Wait between two looks at held deliveries, ms. */
const TICK_MS = 500;

/** Endpoints looked at in one transaction. */
const ENDPOINTS = 50;

/** Held deliveries let go at once for one endpoint; grows while the endpoint keeps up. */
const PACE = { first: 128, least: 32, most: 4_096 };

/** A probe that nobody has answered for after this time, ms, is followed by another. */
const PROBE_MS = 30_000;

/** Wait between two searches for held deliveries of endpoints that were turned off, ms. */
const SEARCH_MS = 30_000;

/** What is needed to let held deliveries go. */
export interface ReleaseOptions {
  readonly boss: PgBoss;
  readonly transaction: Transaction;
  readonly clock: Clock;
  /** Some were let go: a worker of this process need not wait for its next poll. */
  readonly onReleased: () => void;
  /** How many endpoints are spared, told now and then. */
  readonly onSpared: (endpoints: number) => void;
  readonly onFault: (error: unknown) => void;
}

/**
 * Lets held deliveries go as their endpoints can take them: one to probe an endpoint that was spared, all of them once
 * it answers. Safe in many processes: each endpoint is in one hand at a time.
 */
export function createReleaseLoop(options: ReleaseOptions): Loop {
  const pace = new Map<bigint, number>();
  let searchedAt = performance.now();
  return new Loop({
    everyMs: TICK_MS,
    async work() {
      if (performance.now() - searchedAt > SEARCH_MS) {
        searchedAt = performance.now();
        await findHeld(options);
        for (const [endpointId, size] of pace) if (size <= PACE.first) pace.delete(endpointId);
      }
      await release(options, pace);
    },
    onFault: options.onFault,
  });
}

/** Looks once at every endpoint whose held deliveries are due; returns how many deliveries were let go. */
export async function release(
  options: ReleaseOptions,
  pace = new Map<bigint, number>(),
): Promise<number> {
  const { boss, clock, transaction } = options;
  const { released, spared } = await transaction(async (db) => {
    const now = clock.now();
    let released = 0;
    for (const endpoint of await lockDueEndpoints(db, now, ENDPOINTS)) {
      released += await lookAt(db, boss, endpoint, now, pace);
    }
    return { released, spared: await countSpared(db) };
  });
  options.onSpared(spared);
  if (released > 0) options.onReleased();
  return released;
}

async function lookAt(
  db: Db,
  boss: PgBoss,
  endpoint: DueEndpoint,
  now: number,
  pace: Map<bigint, number>,
): Promise<number> {
  if (endpoint.state === 'DISABLED') {
    const failed = await failHeld(db, endpoint, PACE.most, now);
    await writeHealth(db, [
      {
        ...endpoint,
        breaker: 'CLOSED',
        probeAt: failed < PACE.most ? undefined : now,
      },
    ]);
    return 0;
  }
  // An endpoint that is being verified: activation looks at what is held.
  if (endpoint.state === 'PENDING') {
    await writeHealth(db, [{ ...endpoint, breaker: 'CLOSED', probeAt: undefined }]);
    return 0;
  }
  if (endpoint.breaker !== 'CLOSED') {
    const released = await letGo(db, boss, endpoint, 1, now);
    await writeHealth(db, [{ ...endpoint, breaker: 'HALF_OPEN', probeAt: now + PROBE_MS }]);
    return released;
  }
  const size = pace.get(endpoint.endpointId) ?? PACE.first;
  const due = await countDue(db, endpoint, size, now);
  if (due * 2 > size) {
    pace.set(endpoint.endpointId, Math.max(PACE.least, size / 2));
    await writeHealth(db, [{ ...endpoint, probeAt: now + TICK_MS }]);
    return 0;
  }
  if (due === 0) pace.set(endpoint.endpointId, Math.min(PACE.most, size * 2));
  const released = await letGo(db, boss, endpoint, size, now);
  await writeHealth(db, [{ ...endpoint, probeAt: released < size ? undefined : now + TICK_MS }]);
  return released;
}

async function letGo(
  db: Db,
  boss: PgBoss,
  endpoint: DueEndpoint,
  limit: number,
  now: number,
): Promise<number> {
  const released = await releaseHeld(db, endpoint, limit, now);
  await requeueDeliveries(boss, db, released);
  return released.length;
}

/** Has what is held for endpoints that operators have turned off failed. */
async function findHeld({ clock, transaction }: ReleaseOptions): Promise<void> {
  await transaction(async (db) => {
    const now = clock.now();
    await lookAtHeld(db, await findHeldOfDisabled(db, now), now);
  });
}
