import { fromKysely, type Job, type PgBoss } from 'pg-boss';
import type { Db } from '../../ledger/database.ts';
import {
  activateByChallenge,
  disableEndpoint,
  readUrlVersions,
  reportUnanswered,
  type AnsweredUrl,
  type EndpointRef,
} from '../../ledger/webhook-endpoints.ts';
import {
  lockHealth,
  lookAtHeld,
  writeHealth,
  type EndpointHealthRow,
} from '../../ledger/webhook-health.ts';
import { deliveryJobId, type DeliveryRef } from '../../ledger/webhook-ids.ts';
import {
  deliveryName,
  recordOutcomes,
  type DeliveryOutcome,
} from '../../ledger/webhook-outcomes.ts';
import { requeueDeliveries } from '../enqueue-webhooks.ts';
import { WEBHOOK } from '../queues.ts';
import { isGivenUp, nextHealth, UNKNOWN_HEALTH, type Experience } from './breaker.ts';

/** A job as it was fetched; passed back whole, so that settling it is bound to this claim. */
export type ClaimedJob = Job<unknown> & { readonly retryCount: number };

/** What is to be written about one claim. */
export interface Settlement extends DeliveryRef {
  readonly job: ClaimedJob;
  /** What became of the delivery; absent where it needs nothing more, or is only given back. */
  readonly outcome?: DeliveryOutcome;
  /** Gives the job back, to run again after so many seconds; nothing was sent. */
  readonly backInSeconds?: number;
  /** The attempt was of a challenge: it says nothing about the endpoint's health, and a success activates. */
  readonly challenge?: boolean;
  /** Which URL of the endpoint was called; undefined where none was, or one that it has no longer. */
  readonly urlVersion?: number | undefined;
  /** The receiver answered that it wants nothing more. */
  readonly gone?: boolean;
  /** The endpoint's health as it was loaded needs an update after a success. */
  readonly healthWanted?: boolean;
}

/** Held deliveries of an endpoint without a breaker are looked at again this soon, ms. */
const HELD_MS = 500;

/**
 * Writes a batch of settlements: deliveries, attempts, jobs, health and endpoints, all or nothing. Needs an open
 * transaction. A claim that was lost meanwhile keeps its attempt on record and changes nothing else.
 *
 * @param now ms since 1970 UTC; @param random 0 <= random < 1
 * @returns the names of the deliveries that were moved on, as `deliveryName` gives them
 */
export async function settle(
  db: Db,
  boss: PgBoss,
  batch: readonly Settlement[],
  now: number,
  random: number,
): Promise<Set<string>> {
  const settlements = await withoutFormerUrls(db, batch);
  const outcomes = settlements.flatMap(({ outcome }) => (outcome === undefined ? [] : [outcome]));
  const moved = await recordOutcomes(db, outcomes, now);
  const isMoved = (settlement: Settlement): boolean =>
    settlement.outcome !== undefined && moved.has(deliveryName(settlement));
  await settleJobs(db, boss, settlements, isMoved, now);
  await lookAtHeld(
    db,
    distinct(settlements.filter((each) => isMoved(each) && isHeld(each))),
    now + HELD_MS,
  );
  await applyExperience(db, settlements, now, random);
  for (const settlement of settlements) {
    const { gone, urlVersion } = settlement;
    if (gone === true && urlVersion !== undefined) {
      const endpoint = { ...settlement, urlVersion };
      if (await disableEndpoint(db, endpoint, 'GONE', now)) await lookAtHeld(db, [endpoint], now);
    }
    if (settlement.challenge === true && isMoved(settlement)) await conclude(db, settlement, now);
  }
  return moved;
}

/**
 * Takes out of failures what they say about a URL that the endpoint has no longer: they are no experience with the
 * present one, and a 410 of the former one only means that the delivery waits for the present one.
 */
async function withoutFormerUrls(
  db: Db,
  batch: readonly Settlement[],
): Promise<readonly Settlement[]> {
  const failed = batch.filter(({ outcome }) => outcome?.attempt?.errorClass !== undefined);
  if (failed.length === 0) return batch;
  const now = await readUrlVersions(db, [...new Set(failed.map(({ endpointId }) => endpointId))]);
  const former = new Set(
    failed.filter(({ endpointId, urlVersion }) => urlVersion !== now.get(endpointId)),
  );
  return batch.map((settlement) => (former.has(settlement) ? ofFormerUrl(settlement) : settlement));
}

function ofFormerUrl(settlement: Settlement): Settlement {
  const { challenge, gone, outcome } = settlement;
  const unknown = { ...settlement, urlVersion: undefined };
  if (outcome === undefined || gone !== true || challenge === true) return unknown;
  const held = { state: 'PENDING', nextAttemptAt: undefined, failure: undefined } as const;
  return { ...unknown, gone: false, outcome: { ...outcome, ...held } };
}

const isHeld = ({ outcome }: Settlement): boolean =>
  outcome?.state === 'PENDING' && outcome.nextAttemptAt === undefined;

async function settleJobs(
  db: Db,
  boss: PgBoss,
  settlements: readonly Settlement[],
  isMoved: (settlement: Settlement) => boolean,
  now: number,
): Promise<void> {
  const options = { db: fromKysely(db) };
  const over: string[] = [];
  const ours: ClaimedJob[] = [];
  const again: (DeliveryRef & { afterSeconds: number })[] = [];
  for (const settlement of settlements) {
    const { outcome, backInSeconds } = settlement;
    if (backInSeconds !== undefined) again.push({ ...settlement, afterSeconds: backInSeconds });
    // Whoever moved the delivery on has seen to its job; ours may be the same one.
    else if (!isMoved(settlement)) ours.push(settlement.job);
    else if (outcome?.nextAttemptAt === undefined) over.push(deliveryJobId(settlement));
    else again.push({ ...settlement, afterSeconds: (outcome.nextAttemptAt - now) / 1000 });
  }
  if (over.length > 0) {
    // Also a job that another worker has claimed since: the delivery is over.
    await boss.complete(WEBHOOK, over, null, { ...options, includeQueued: true });
  }
  if (ours.length > 0) await boss.complete(WEBHOOK, ours, null, options);
  await requeueDeliveries(boss, db, again);
}

async function applyExperience(
  db: Db,
  settlements: readonly Settlement[],
  now: number,
  random: number,
): Promise<void> {
  const learned = new Map<bigint, { endpoint: AnsweredUrl; seen: Experience; wanted: boolean }>();
  for (const settlement of settlements) {
    const { siteId, endpointId, urlVersion, outcome, challenge, healthWanted } = settlement;
    const attempt = outcome?.attempt;
    if (outcome === undefined || attempt === undefined || challenge === true) continue;
    if (urlVersion === undefined) continue;
    const before = learned.get(endpointId);
    const at = attempt.attemptedAt;
    const seen: Experience =
      outcome.state === 'DELIVERED'
        ? {
            failures: 0,
            firstFailureAt: undefined,
            lastFailureAt: before?.seen.lastFailureAt,
            lastSuccessAt: at,
          }
        : {
            failures: (before?.seen.failures ?? 0) + 1,
            firstFailureAt: before?.seen.firstFailureAt ?? at,
            lastFailureAt: at,
            lastSuccessAt: before?.seen.lastSuccessAt,
          };
    const wanted =
      before?.wanted === true || outcome.state !== 'DELIVERED' || healthWanted === true;
    learned.set(endpointId, { endpoint: { siteId, endpointId, urlVersion }, seen, wanted });
  }
  const changed = [...learned.values()].filter(({ wanted }) => wanted);
  if (changed.length === 0) return;
  const known = await lockHealth(
    db,
    changed.map(({ endpoint }) => endpoint),
  );
  const rows = changed.map(({ endpoint, seen }): EndpointHealthRow & AnsweredUrl => {
    const before = known.get(endpoint.endpointId) ?? UNKNOWN_HEALTH;
    return { ...nextHealth(before, seen, now, random), ...endpoint };
  });
  await writeHealth(db, rows);
  for (const row of rows) {
    if (isGivenUp(row, now) && (await disableEndpoint(db, row, 'FAILING', now))) {
      await writeHealth(db, [{ ...row, probeAt: now }]);
    }
  }
}

/**
 * The answer to the newest challenge activates; what was held for the endpoint goes out. Where none has come at the end
 * of the schedule, operators hear of it: more and more may be held meanwhile.
 */
async function conclude(db: Db, settlement: Settlement, now: number): Promise<void> {
  const { siteId, endpointId, eventId, outcome } = settlement;
  const endpoint = { siteId, endpointId };
  if (outcome?.failure === 'EXHAUSTED') await reportUnanswered(db, endpoint, eventId, now);
  if (outcome?.state !== 'DELIVERED') return;
  if (!(await activateByChallenge(db, endpoint, eventId, now))) return;
  await writeHealth(db, [{ ...UNKNOWN_HEALTH, ...endpoint, probeAt: now, lastSuccessAt: now }]);
}

function distinct(settlements: readonly Settlement[]): EndpointRef[] {
  const byId = new Map(
    settlements.map(({ siteId, endpointId }) => [endpointId, { siteId, endpointId }]),
  );
  return [...byId.values()];
}
