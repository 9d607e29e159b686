import { isPair, type EntityKind } from '../entities.ts';
import type { RiskEvent } from '../event.ts';
import { bucketAt, dropBefore } from './buckets.ts';
import { counterpartHash, forgetBefore, see } from './counterparts.ts';
import { addSaturating, addSquare } from './exact.ts';
import { addRecent, ENDING, type Ending } from './recent.ts';
import {
  AMOUNT_STRIDE,
  COUNT_STRIDES,
  COUNTERPARTS,
  DAY_AMOUNT_STRIDE,
  emptyState,
  MAX_CURRENCIES,
  type CurrencyAmounts,
  type EntityState,
} from './state.ts';
import { bucketOf, oldestKept, SIGHT_UNIT, type LevelIndex } from './windows.ts';

const LEVEL_INDEXES: readonly LevelIndex[] = [0, 1, 2, 3];
/** A pair has no features over minutes: what happens that fast, its parts tell. */
const PAIR_LEVELS: readonly LevelIndex[] = [2, 3];
const MS_PER_DAY = 86_400_000;

/**
 * Adds an event to the history of its entity of one kind. Changes the state given and returns it; a first event makes
 * a new one. Never throws. Costs the same however many events the entity has had.
 *
 * PAYMENT_AUTH is an attempt; refunds, cancels and chargebacks are counted apart; a capture only makes the entity
 * seen; PROFILE_UPSERT sets the profile, unless a newer version is known, and then it changes nothing.
 */
export function absorb(
  state: EntityState | undefined,
  event: RiskEvent,
  kind: EntityKind,
): EntityState {
  const grown = state ?? emptyState(kind);
  if (event.facts.event_type === 'PROFILE_UPSERT') {
    absorbProfile(grown, event);
    return grown;
  }
  if (event.at < grown.firstSeen) grown.firstSeen = event.at;
  if (event.at > grown.newest) {
    grown.newest = event.at;
    dropExpired(grown);
  }
  const cell = COUNT_CELLS[event.facts.event_type];
  if (cell === undefined) return grown;
  if (cell !== ATTEMPT_CELL) {
    addCount(grown, event.at, 2, cell);
    addCount(grown, event.at, 3, cell);
    return grown;
  }
  const ending = endingOf(event);
  grown.attempts++;
  for (const level of isPair(kind) ? PAIR_LEVELS : LEVEL_INDEXES) {
    addCount(grown, event.at, level, ATTEMPT_CELL);
    if (ending === ENDING.approved) addCount(grown, event.at, level, APPROVAL_CELL);
    if (ending === ENDING.declined) addCount(grown, event.at, level, DECLINE_CELL);
  }
  if (ending === ENDING.approved) absorbAmount(grown, event, kind);
  addRecent(grown.recent, event.at, ending);
  absorbCounterparts(grown, event, kind);
  return grown;
}

const ATTEMPT_CELL = 1;
const APPROVAL_CELL = 2;
const DECLINE_CELL = 3;
/** Where each kind of event is counted in a bucket; a capture repeats its authorisation, so it is not. */
const COUNT_CELLS: Partial<Record<RiskEvent['facts']['event_type'], number>> = {
  PAYMENT_AUTH: ATTEMPT_CELL,
  PAYMENT_REFUND: 4,
  PAYMENT_CANCEL: 5,
  PAYMENT_CHARGEBACK: 6,
};

function endingOf(event: RiskEvent): Ending {
  if (event.facts.status === 'APPROVED') return ENDING.approved;
  return event.facts.status === 'DECLINED' ? ENDING.declined : ENDING.undecided;
}

function addCount(state: EntityState, at: number, level: LevelIndex, cell: number): void {
  if (bucketOf(at, level) < oldestKept(state.newest, level)) return;
  const buckets = state.counts[level];
  const position = bucketAt(buckets, COUNT_STRIDES[level], bucketOf(at, level));
  buckets[position + cell] = (buckets[position + cell] as number) + 1;
}

function absorbProfile(state: EntityState, event: RiskEvent): void {
  const version = event.profileVersion ?? -1;
  const isNewer =
    version > state.profileVersion ||
    (version === state.profileVersion && event.at > state.profileAt);
  if (!isNewer) return;
  state.firstSeen = Math.min(state.firstSeen, event.at);
  state.profileVersion = version;
  state.profileAt = event.at;
  const age = event.facts.account_age_days;
  if (age !== undefined) state.accountOpenedAt = Math.floor(event.at - age * MS_PER_DAY);
}

function absorbAmount(state: EntityState, event: RiskEvent, kind: EntityKind): void {
  const amounts = amountsIn(state, event.facts.currency, event.at);
  if (amounts === undefined) return;
  const amount = event.facts.amount_minor;
  if (!isPair(kind)) {
    addAmount(amounts.fiveMinutes, AMOUNT_STRIDE, event.at, 1, state.newest, amount);
    addAmount(amounts.hours, AMOUNT_STRIDE, event.at, 2, state.newest, amount);
  }
  const day = addAmount(amounts.days, DAY_AMOUNT_STRIDE, event.at, 3, state.newest, amount);
  if (day === undefined) return;
  amounts.days[day + 3] = Math.max(amounts.days[day + 3] as number, amount);
  addSquare(amounts.days, day + 4, amount);
}

function addAmount(
  buckets: number[],
  stride: number,
  at: number,
  level: LevelIndex,
  newest: number,
  amount: number,
): number | undefined {
  if (bucketOf(at, level) < oldestKept(newest, level)) return undefined;
  const position = bucketAt(buckets, stride, bucketOf(at, level));
  buckets[position + 1] = (buckets[position + 1] as number) + 1;
  buckets[position + 2] = addSaturating(buckets[position + 2] as number, amount);
  return position;
}

/** The amounts in a currency; undefined where there is no room, or the event comes too late for any bucket. */
function amountsIn(state: EntityState, currency: string, at: number): CurrencyAmounts | undefined {
  for (const amounts of state.amounts) if (amounts.currency === currency) return amounts;
  if (state.amounts.length === MAX_CURRENCIES) return undefined;
  if (bucketOf(at, 3) < oldestKept(state.newest, 3)) return undefined;
  const amounts = { currency, fiveMinutes: [], hours: [], days: [] };
  state.amounts.push(amounts);
  state.amounts.sort((a, b) => (a.currency < b.currency ? -1 : 1));
  return amounts;
}

function absorbCounterparts(state: EntityState, event: RiskEvent, kind: EntityKind): void {
  const sight = Math.floor(event.at / SIGHT_UNIT);
  if (sight < oldestSight(state.newest)) return;
  for (const [index, counterpart] of COUNTERPARTS[kind].entries()) {
    const key = event.keys[counterpart];
    if (key !== undefined) see(state.counterparts[index] as number[], counterpartHash(key), sight);
  }
}

function dropExpired(state: EntityState): void {
  for (const level of LEVEL_INDEXES) {
    dropBefore(state.counts[level], COUNT_STRIDES[level], oldestKept(state.newest, level));
  }
  for (let i = state.amounts.length - 1; i >= 0; i--) {
    const { fiveMinutes, hours, days } = state.amounts[i] as CurrencyAmounts;
    dropBefore(fiveMinutes, AMOUNT_STRIDE, oldestKept(state.newest, 1));
    dropBefore(hours, AMOUNT_STRIDE, oldestKept(state.newest, 2));
    dropBefore(days, DAY_AMOUNT_STRIDE, oldestKept(state.newest, 3));
    if (days.length === 0) state.amounts.splice(i, 1);
  }
  const oldest = oldestSight(state.newest);
  for (const list of state.counterparts) forgetBefore(list, oldest);
}

/** The oldest sight of a counterpart that is kept: as long as the buckets of a day are. */
function oldestSight(newest: number): number {
  return (oldestKept(newest, 3) * MS_PER_DAY) / SIGHT_UNIT;
}
