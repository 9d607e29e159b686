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
import type { Acceptance } from './submission.ts';
import { together } from './transactions.ts';

/** What became of one submission of a group. `again`: it must wait for a neighbour of the group and be tried anew. */
export type Settlement = Acceptance | Refusal | 'again';

/** Another process or the database's contents crossed this attempt: roll back, look what is stored, try again. */
export class Contested extends Error {
  override name = 'Contested';
}

/** Inserts the evaluation jobs of new ledger rows in the same transaction; returns how many were inserted. */
export type EnqueueEvaluations = (db: Db, rows: readonly Numbered[]) => Promise<number>;

/**
 * Writes a group inside the caller's transaction: usage, idempotency keys, ledger rows, payloads and evaluation jobs,
 * or nothing.
 *
 * Locks are taken in one order everywhere (usage counters, keys, ledger), each statement sorted by its key: two
 * processes with crossing groups dead-lock otherwise.
 *
 * The usual group is new events only: five statements that are sent at once and checked afterwards. Anything else
 * (`lookFirst`) first reads what is stored under the keys and ids, so that replays are answered, conflicts refused and
 * only new rows counted.
 *
 * The race that shapes this: A and B insert the same key at once. B waits for A's commit, then inserts nothing. In the
 * same statement B sees neither a row of its own nor A's, and its ledger row would be a second event under one key.
 * So a statement that inserted fewer rows than it was given throws {@link Contested}, everything rolls back, and the
 * next attempt sees A's row in a statement of its own.
 *
 * @throws Contested, or what the database throws; the caller must roll back either way
 */
export async function commitGroup(
  db: Db,
  items: readonly Numbered[],
  options: {
    readonly lookFirst: boolean;
    readonly now: number;
    readonly enqueue: EnqueueEvaluations;
  },
): Promise<Settlement[]> {
  const settlements: (Settlement | undefined)[] = items.map(() => undefined);
  const bindings: KeyBinding[] = [];
  let fresh: readonly number[];
  if (options.lookFirst) {
    await settleKnown(db, items, settlements, bindings);
    fresh = await countUsage(db, items, claimKeys(items, settlements), settlements, options);
    await insertRows(
      db,
      fresh.map((index) => at(items, index)),
      bindings,
      options.enqueue,
    );
  } else {
    fresh = claimKeys(items, settlements);
    // All of it is sent at once; whatever turns out not to be new rolls everything back.
    await together(
      countUsage(db, items, fresh, settlements, options),
      insertRows(
        db,
        fresh.map((index) => at(items, index)),
        bindings,
        options.enqueue,
      ),
    );
  }
  for (const index of fresh) {
    const { ingestionId, sourceEventId, receivedAt } = at(items, index);
    settlements[index] = { ingestionId, sourceEventId, receivedAt, replayed: false };
  }
  return settlements.map((settlement) => settlement ?? 'again');
}

/** Keys, ledger rows, payloads and jobs, sent together in this order. @throws Contested when any was there already */
async function insertRows(
  db: Db,
  rows: readonly Numbered[],
  bindings: KeyBinding[],
  enqueue: EnqueueEvaluations,
): Promise<void> {
  for (const row of rows) bindings.push(bindingOf(row, row.ingestionId));
  if (bindings.length === 0) return;
  const [keys, ledger, , jobs] = await together(
    insertKeys(db, 'event', bindings),
    rows.length === 0 ? Promise.resolve(0) : insertLedgerRows(db, rows),
    rows.length === 0 ? Promise.resolve() : insertPayloads(db, rows),
    rows.length === 0 ? Promise.resolve(0) : enqueue(db, rows),
  );
  if (keys !== bindings.length || ledger !== rows.length) throw new Contested();
  if (jobs !== rows.length) {
    throw new Error(`${rows.length} ledger rows but ${jobs} evaluation jobs`);
  }
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new RangeError('index outside the group');
  return item;
}

const bindingOf = (item: Numbered, ingestionId: bigint): KeyBinding => ({
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
    const settlement = found.fingerprint.equals(item.payloadHash)
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
    bindings.push(bindingOf(item, known.ingestionId));
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

/** Counts new events; past a credential's capacity the last to arrive are refused. Returns those that may go on. */
async function countUsage(
  db: Db,
  items: readonly Numbered[],
  fresh: readonly number[],
  settlements: (Settlement | undefined)[],
  options: { readonly lookFirst: boolean; readonly now: number },
): Promise<number[]> {
  if (fresh.length === 0) return [];
  const groups = new Map<string, { change: UsageChange; members: number[] }>();
  for (const index of fresh) {
    const { siteId, credentialId, receivedAt } = at(items, index);
    const month = utcMonth(receivedAt);
    const name = `${credentialId}/${month}`;
    const group = groups.get(name);
    if (group === undefined) {
      groups.set(name, { change: { siteId, credentialId, month, count: 1 }, members: [index] });
    } else {
      group.members.push(index);
      group.change = { ...group.change, count: group.change.count + 1 };
    }
  }
  const counted = await addUsage(
    db,
    [...groups.values()].map((group) => group.change),
    options.now,
  );
  const refused = new Set<number>();
  const corrections: UsageChange[] = [];
  for (const usage of counted) {
    const group = groups.get(`${usage.credentialId}/${usage.month}`);
    const over = Math.min(overrun(usage), group?.members.length ?? 0);
    if (group === undefined || over === 0) continue;
    // Some may be replays, which never count: find out before refusing anybody.
    if (!options.lookFirst) throw new Contested();
    corrections.push({ ...group.change, count: -over });
    for (const index of group.members.slice(-over)) {
      refused.add(index);
      settlements[index] = quotaRefusal(usage, at(items, index).receivedAt);
    }
  }
  if (corrections.length > 0) await addUsage(db, corrections, options.now);
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
