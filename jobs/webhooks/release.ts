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
const TICK_MS = 250;

/** Endpoints looked at in one transaction. */
const ENDPOINTS = 50;

/** Held deliveries of a disabled endpoint that are failed at once. */
const FAILED_AT_ONCE = 4_096;

/** A probe that nobody has answered for after this time, ms, is followed by another. */
const PROBE_MS = 30_000;

/** Wait between two searches for what was forgotten, ms. */
const SEARCH_MS = 60_000;

/** A delivery this much later than its time, ms, with no job, is queued again. */
const LOST_MS = 120_000;

/** An endpoint that can take nothing now is looked at again after this long, ms. */
const FULL_MS = 1_000;

/** What a process has in hand for an endpoint, and how many more deliveries it could take now. */
export interface Capacity {
  readonly inHand: number;
  readonly room: number;
}

/** What is needed to let held deliveries go. */
export interface ReleaseOptions {
  readonly boss: PgBoss;
  readonly transaction: Transaction;
  readonly clock: Clock;
  /** What this process can take for an endpoint: more would only be held again. */
  readonly capacityFor: (endpointId: bigint) => Capacity;
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
  let searchedAt = performance.now();
  return new Loop({
    everyMs: TICK_MS,
    async work() {
      if (performance.now() - searchedAt > SEARCH_MS) {
        searchedAt = performance.now();
        const found = await findForgotten(options);
        if (found > 0) options.onFound(found);
      }
      await release(options);
    },
    onFault: options.onFault,
  });
}

/** Looks once at every endpoint whose held deliveries are due; returns how many deliveries were let go. */
export async function release(options: ReleaseOptions): Promise<number> {
  const { clock, transaction } = options;
  const { released, spared } = await transaction(async (db) => {
    const now = clock.now();
    let released = 0;
    for (const endpoint of await lockDueEndpoints(db, now, ENDPOINTS)) {
      released += await lookAt(db, options, endpoint, now);
    }
    return { released, spared: await countSpared(db) };
  });
  options.onSpared(spared);
  if (released > 0) options.onReleased();
  return released;
}

async function lookAt(
  db: Db,
  { boss, capacityFor }: ReleaseOptions,
  endpoint: DueEndpoint,
  now: number,
): Promise<number> {
  if (endpoint.state === 'DISABLED') {
    const failed = await failHeld(db, endpoint, FAILED_AT_ONCE, now);
    await writeHealth(db, [
      {
        ...endpoint,
        breaker: 'CLOSED',
        probeAt: failed < FAILED_AT_ONCE ? undefined : now,
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
  const { inHand, room } = capacityFor(endpoint.endpointId);
  // What is due and not in hand here waits in the queue, or is in another process's hands.
  const elsewhere = (await countDue(db, endpoint, inHand + room, now)) - inHand;
  const size = room - Math.max(0, elsewhere);
  if (size <= 0) {
    await writeHealth(db, [{ ...endpoint, probeAt: now + FULL_MS }]);
    return 0;
  }
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
