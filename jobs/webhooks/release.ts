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
import {
  countDue,
  failHeld,
  findForgottenHeld,
  findLostDeliveries,
  releaseHeld,
} from '../../ledger/webhook-held.ts';
import { deliveryJobId } from '../../ledger/webhook-ids.ts';
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

/** Wait between two searches for what was forgotten, ms. */
const SEARCH_MS = 60_000;

/** A delivery this much later than its time, ms, with no job, is queued again. */
const LOST_MS = 120_000;

/** What is needed to let held deliveries go. */
export interface ReleaseOptions {
  readonly boss: PgBoss;
  readonly transaction: Transaction;
  readonly clock: Clock;
  /** Some were let go: a worker of this process need not wait for its next poll. */
  readonly onReleased: () => void;
  /** How many endpoints are spared, told now and then. */
  readonly onSpared: (endpoints: number) => void;
  /** Deliveries were found that nobody would have made. */
  readonly onFound: (count: number) => void;
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
        const found = await findForgotten(options);
        if (found > 0) options.onFound(found);
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

/**
 * Finds what fell through: overdue deliveries without a job, and held ones that nobody will look at, such as one that
 * was written while its endpoint was being activated. Returns how many deliveries were queued again.
 */
export async function findForgotten(options: ReleaseOptions): Promise<number> {
  const { boss, clock, transaction } = options;
  return transaction(async (db) => {
    const now = clock.now();
    const held = await findForgottenHeld(db, now);
    await lookAtHeld(db, held, now);
    const lost = await findLostDeliveries(db, deliveryJobId, now - LOST_MS, now);
    await requeueDeliveries(boss, db, lost);
    return lost.length;
  });
}
