import { Refusal } from '../contract/errors.ts';
import type { Db } from './database.ts';
import {
  addUsage,
  findExisting,
  insertKeys,
  insertLedgerRows,
  insertPayloads,
  utcMonth,
  type CountedUsage,
  type KeyBinding,
  type Numbered,
  type UsageChange,
} from './ingest-statements.ts';
import { admitToWindows, type WindowState } from './rate-window.ts';
import type { Acceptance } from './submission.ts';
import { together } from './transactions.ts';

/** What became of one submission of a group. `again`: it must wait for a neighbour of the group and be tried anew. */
export type Settlement = Acceptance | Refusal | 'again';

/** Inserts the evaluation jobs of new ledger rows in the same transaction, or undoes it. */
export type EnqueueEvaluations = (db: Db, rows: readonly Numbered[]) => Promise<void>;

/** How a group is written. */
export interface CommitOptions {
  readonly now: number;
  readonly enqueue: EnqueueEvaluations;
}

/** A group that is taken to be new events only, ready to be sent. */
export interface FreshGroup {
  /** How many statements `write` sends. */
  readonly statements: number;
  /** Positions of the items that `write` accepts; the others wait for them. */
  readonly fresh: readonly number[];
  /** Writes them or undoes the transaction; returns the rate windows of what was not admitted before. */
  readonly write: (db: Db) => Promise<WindowState[]>;
}

/*
 * A group writes rate windows, usage, idempotency keys, ledger rows, payloads and evaluation jobs in one transaction,
 * or nothing. Locks are taken in one order everywhere (windows, usage counters, keys, ledger), each statement sorted by
 * its key: two processes with crossing groups dead-lock otherwise.
 *
 * The usual group is new events only: its statements are sent at once with their commit, and each refuses the whole
 * transaction if it meets anything else. Then the group is written again by `commitKnown`, which first reads what is
 * stored under the keys and ids, so that replays are answered, conflicts refused and only new rows counted.
 *
 * The race that shapes this: A and B insert the same key at once. B waits for A's commit, then cannot insert. In the
 * same statement B sees neither a row of its own nor A's. So everything of B rolls back (`isContested`), and its next
 * attempt sees A's row in a statement of its own.
 */

/** Prepares the writing of a group in one trip. @param unadmitted requests that the rate limit has yet to admit */
export function freshGroup(
  items: readonly Numbered[],
  isAdmitted: (index: number) => boolean,
  options: CommitOptions,
): FreshGroup {
  const fresh = claimKeys(items, []);
  const rows = fresh.map((index) => at(items, index));
  const wanted = new Map<bigint, number>();
  for (const index of fresh) {
    if (isAdmitted(index)) continue;
    const { credentialId } = at(items, index);
    wanted.set(credentialId, (wanted.get(credentialId) ?? 0) + 1);
  }
  const changes = usageChanges(rows);
  return {
    statements: wanted.size > 0 ? 6 : 5,
    fresh,
    async write(db) {
      const [windows] = await together(
        wanted.size > 0 ? admitToWindows(db, wanted, 'refused') : Promise.resolve([]),
        addUsage(db, changes, options.now, 'refused'),
        insertRows(db, rows, rows.map(bindingOf), options.enqueue),
      );
      return windows;
    },
  };
}

/**
 * Writes a group of which some may be stored already, conflict with each other or find their quota used up. Needs an
 * open transaction.
 *
 * @throws what `isContested` knows, or anything the database throws; the caller must roll back either way
 */
export async function commitKnown(
  db: Db,
  items: readonly Numbered[],
  options: CommitOptions,
): Promise<Settlement[]> {
  const settlements: (Settlement | undefined)[] = items.map(() => undefined);
  const bindings: KeyBinding[] = [];
  await settleKnown(db, items, settlements, bindings);
  const fresh = await countUsage(db, items, claimKeys(items, settlements), settlements, options);
  const rows = fresh.map((index) => at(items, index));
  await insertRows(db, rows, [...bindings, ...rows.map(bindingOf)], options.enqueue);
  for (const index of fresh) settlements[index] = acceptanceOf(at(items, index));
  return settlements.map((settlement) => settlement ?? 'again');
}

/** Keys, ledger rows, payloads and jobs, sent together in this order. */
async function insertRows(
  db: Db,
  rows: readonly Numbered[],
  bindings: readonly KeyBinding[],
  enqueue: EnqueueEvaluations,
): Promise<void> {
  if (bindings.length === 0) return;
  const keys = insertKeys(db, bindings);
  if (rows.length === 0) return keys;
  await together(keys, insertLedgerRows(db, rows), insertPayloads(db, rows), enqueue(db, rows));
}

/** The answer to a submission that was accepted now. */
export const acceptanceOf = (item: Numbered): Acceptance => ({
  ingestionId: item.ingestionId,
  sourceEventId: item.sourceEventId,
  receivedAt: item.receivedAt,
  replayed: false,
});

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new RangeError('index outside the group');
  return item;
}

const bindingOf = (item: Numbered): KeyBinding => bindingTo(item, item.ingestionId);

const bindingTo = (item: Numbered, ingestionId: bigint): KeyBinding => ({
  siteId: item.siteId,
  keyHash: item.keyHash,
  fingerprint: item.payloadHash,
  ingestionId,
  createdAt: item.receivedAt,
});

/** Answers what is stored already; a known event under a new key becomes a binding of that key. */
async function settleKnown(
  db: Db,
  items: readonly Numbered[],
  settlements: (Settlement | undefined)[],
  bindings: KeyBinding[],
): Promise<void> {
  const byKey = new Map<number, Settlement>();
  const byEvent = new Map<number, Settlement>();
  for (const found of await findExisting(db, items)) {
    const item = at(items, found.index);
    const settlement =
      found.fingerprint === item.payloadHash
        ? {
            ingestionId: found.ingestionId,
            sourceEventId: found.sourceEventId,
            receivedAt: found.receivedAt,
            // An earlier attempt of this very submission whose commit was not confirmed is no replay.
            replayed: found.ingestionId !== item.ingestionId,
          }
        : new Refusal('IDEMPOTENCY_CONFLICT', {
            details: [
              `${found.boundBy === 'key' ? 'Idempotency-Key' : 'source_event_id'}: was used with a different payload`,
            ],
          });
    (found.boundBy === 'key' ? byKey : byEvent).set(found.index, settlement);
  }
  const bound = new Set<string>();
  for (const [index, item] of items.entries()) {
    const known = byKey.get(index) ?? byEvent.get(index);
    if (known === undefined) continue;
    if (byKey.has(index) || known instanceof Refusal || known === 'again') {
      settlements[index] = known;
      continue;
    }
    // Every 202 binds its key. Two new keys of one event may bind together, one key only once.
    const key = keyName(item);
    if (bound.has(key)) continue;
    bound.add(key);
    bindings.push(bindingTo(item, known.ingestionId));
    settlements[index] = known;
  }
}

const keyName = (item: Numbered): string => `${item.siteId}/${item.keyHash}`;

/**
 * The first submission of each key and of each event goes on; the others of the group stay unsettled and wait for its
 * outcome, since they may turn out to be its replay, its conflict or, if it is refused, the first themselves.
 */
function claimKeys(
  items: readonly Numbered[],
  settlements: readonly (Settlement | undefined)[],
): number[] {
  const claimed = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (settlements[index] !== undefined) claimed.add(keyName(item));
  }
  const fresh: number[] = [];
  for (const [index, item] of items.entries()) {
    if (settlements[index] !== undefined) continue;
    const key = keyName(item);
    const event = `${item.siteId}//${item.sourceEventId}`;
    if (claimed.has(key) || claimed.has(event)) continue;
    claimed.add(key).add(event);
    fresh.push(index);
  }
  return fresh;
}

/** What rows count for, by credential and month. */
function usageChanges(rows: readonly Numbered[]): UsageChange[] {
  const changes = new Map<string, UsageChange & { count: number }>();
  for (const { siteId, credentialId, receivedAt } of rows) {
    const month = utcMonth(receivedAt);
    const name = `${credentialId}/${month}`;
    const change = changes.get(name);
    if (change === undefined) changes.set(name, { siteId, credentialId, month, count: 1 });
    else change.count += 1;
  }
  return [...changes.values()];
}

/** Counts new events; past a credential's capacity the last to arrive are refused. Returns those that may go on. */
async function countUsage(
  db: Db,
  items: readonly Numbered[],
  fresh: readonly number[],
  settlements: (Settlement | undefined)[],
  options: CommitOptions,
): Promise<number[]> {
  if (fresh.length === 0) return [];
  const changes = usageChanges(fresh.map((index) => at(items, index)));
  const refused = new Set<number>();
  const corrections: UsageChange[] = [];
  for (const usage of await addUsage(db, changes, options.now, 'told')) {
    const members = fresh.filter((index) => {
      const { credentialId, receivedAt } = at(items, index);
      return credentialId === usage.credentialId && utcMonth(receivedAt) === usage.month;
    });
    const over = Math.min(overrun(usage), members.length);
    const first = members[0];
    if (over === 0 || first === undefined) continue;
    corrections.push({ ...usage, siteId: at(items, first).siteId, count: -over });
    for (const index of members.slice(-over)) {
      refused.add(index);
      settlements[index] = quotaRefusal(usage, at(items, index).receivedAt);
    }
  }
  if (corrections.length > 0) await addUsage(db, corrections, options.now, 'told');
  return fresh.filter((index) => !refused.has(index));
}

const overrun = (usage: CountedUsage): number => Math.max(0, usage.accepted - (usage.limit ?? 0));

function quotaRefusal(usage: CountedUsage, receivedAt: number): Refusal {
  // The contract ended between the key check and the commit: the credential is no longer active.
  if (usage.limit === null) return new Refusal('UNAUTHORIZED');
  return new Refusal('API_QUOTA_EXCEEDED', { retryAfterSeconds: secondsToNextMonth(receivedAt) });
}

/** Whole seconds until the next UTC month begins, at least 1. */
export function secondsToNextMonth(now: number): number {
  const date = new Date(now);
  const next = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
  return Math.max(1, Math.ceil((next - now) / 1000));
}
