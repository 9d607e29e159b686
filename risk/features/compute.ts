import { ENTITY_KINDS, type EntityKind, type EntityRef } from '../entities.ts';
import type { RiskEvent } from '../event.ts';
import { NO_LABELS, type EntityLabels } from '../labels.ts';
import { firstFrom } from './buckets.ts';
import { amountPlan, writeAmounts, type AmountPlan } from './compute-amounts.ts';
import { writeEvent } from './compute-event.ts';
import { labelPlan, writeLabels, type LabelPlan } from './compute-labels.ts';
import { counterpartHash, firstSince, isKnownSince } from './counterparts.ts';
import { featurePosition } from './definitions.ts';
import { declinesInRow, lastAttempt } from './recent.ts';
import { COUNT_STRIDES, COUNTERPARTS, emptyState, type EntityState } from './state.ts';
import { absentFeatures, type Features } from './vector.ts';
import { bucketOf, LEVELS, SIGHT_UNIT, WINDOWS } from './windows.ts';

const MS_PER_DAY = 86_400_000;

/**
 * The features of an event, from the states of its entities before it. Changes nothing, never throws, and costs the
 * same for an entity with a million events.
 *
 * @param stateOf   undefined for an entity without history
 * @param labelsOf  undefined for an entity without labels
 */
export function computeFeatures(
  event: RiskEvent,
  stateOf: (entity: EntityRef) => EntityState | undefined,
  labelsOf: (entity: EntityRef) => EntityLabels | undefined,
): Features {
  const features = absentFeatures();
  const { values } = features;
  for (const entity of event.entities) {
    const state = stateOf(entity);
    const plan = PLANS[entity.kind];
    writeCounts(values, plan, state ?? EMPTY[entity.kind], event.at);
    writeAmounts(values, plan.amounts, state, event);
    writeSeen(values, plan, state, event.at);
    writeCounterparts(values, plan, state ?? EMPTY[entity.kind], event, entity.kind);
    writeLabels(values, plan.labels, labelsOf(entity) ?? NO_LABELS, state, event.at);
    if (entity.kind === 'customer') writeAccountAge(values, state, event);
  }
  writeEvent(values, event);
  if (event.originalKnown !== null) values[ORIGINAL_KNOWN] = event.originalKnown ? 1 : 0;
  return features;
}

/** Where the values of an entity kind's features stand, -1 for those it has not; looked up once, by name. */
interface Plan {
  /** The windows in which anything is counted, and for each the positions of {@link COUNT_MEASURES}. */
  readonly counts: readonly { readonly window: Window; readonly positions: readonly number[] }[];
  readonly amounts: AmountPlan;
  readonly seen: number;
  readonly labels: LabelPlan;
  /** For each counterpart the position of its first window; is_new follows the last. */
  readonly counterparts: readonly number[];
}

type Window = (typeof WINDOWS)[number];

const COUNT_MEASURES = ['attempts', 'approvals', 'declines', 'refunds', 'cancels', 'chargebacks'];
const PLANS = Object.fromEntries(ENTITY_KINDS.map((kind) => [kind, planOf(kind)])) as Record<
  EntityKind,
  Plan
>;
const EMPTY = Object.fromEntries(ENTITY_KINDS.map((kind) => [kind, emptyState(kind)])) as Record<
  EntityKind,
  EntityState
>;
const ORIGINAL_KNOWN = position('original_known');
const ACCOUNT_AGE = position('account_age_days');

function planOf(kind: EntityKind): Plan {
  return {
    counts: WINDOWS.map((window) => ({
      window,
      positions: COUNT_MEASURES.map(
        (measure) => featurePosition(`${kind}_${measure}_${window.name}`) ?? -1,
      ),
    })).filter(({ positions }) => positions.some((each) => each >= 0)),
    amounts: amountPlan(kind),
    seen: position(`${kind}_known`),
    labels: labelPlan(kind),
    counterparts: COUNTERPARTS[kind].map(
      (counterpart) => position(`${kind}_${counterpart}_is_new`) - WINDOWS.length,
    ),
  };
}

function position(name: string): number {
  const found = featurePosition(name);
  if (found === undefined) throw new RangeError(`There is no feature ${name}; see FEATURES.`);
  return found;
}

function writeCounts(values: number[], plan: Plan, state: EntityState, at: number): void {
  for (const { window, positions } of plan.counts) {
    const { level, buckets: length } = window;
    const buckets = state.counts[level];
    const stride = COUNT_STRIDES[level];
    const to = bucketOf(at, level);
    const end = firstFrom(buckets, stride, to + 1);
    // Each sum has a variable of its own: a row of six took twice the time of everything else here.
    let attempts = 0;
    let approvals = 0;
    let declines = 0;
    let refunds = 0;
    let cancels = 0;
    let chargebacks = 0;
    for (let b = firstFrom(buckets, stride, to - length); b < end; b += stride) {
      attempts += buckets[b + 1] as number;
      approvals += buckets[b + 2] as number;
      declines += buckets[b + 3] as number;
      if (stride === 4) continue;
      refunds += buckets[b + 4] as number;
      cancels += buckets[b + 5] as number;
      chargebacks += buckets[b + 6] as number;
    }
    put(values, positions[0] as number, attempts);
    put(values, positions[1] as number, approvals);
    put(values, positions[2] as number, declines);
    if (stride === 4) continue;
    put(values, positions[3] as number, refunds);
    put(values, positions[4] as number, cancels);
    put(values, positions[5] as number, chargebacks);
  }
}

function put(values: number[], position: number, value: number): void {
  if (position >= 0) values[position] = value;
}

/** known, age_seconds, idle_seconds, attempts_total, declines_in_row: in the order of the definitions. */
function writeSeen(values: number[], plan: Plan, state: EntityState | undefined, at: number): void {
  values[plan.seen] = state === undefined ? 0 : 1;
  values[plan.seen + 1] = state === undefined ? 0 : Math.max(0, at - state.firstSeen) / 1000;
  const last = state && lastAttempt(state.recent, at);
  if (last !== undefined) values[plan.seen + 2] = (at - last) / 1000;
  values[plan.seen + 3] = state?.attempts ?? 0;
  values[plan.seen + 4] = state === undefined ? 0 : declinesInRow(state.recent, at);
}

function writeCounterparts(
  values: number[],
  plan: Plan,
  state: EntityState,
  event: RiskEvent,
  kind: EntityKind,
): void {
  const counterparts = COUNTERPARTS[kind];
  for (let c = 0; c < counterparts.length; c++) {
    const list = state.counterparts[c] as number[];
    const first = plan.counterparts[c] as number;
    let oldest = 0;
    let position = list.length;
    for (let w = 0; w < WINDOWS.length; w++) {
      const { level, buckets } = WINDOWS[w] as (typeof WINDOWS)[number];
      oldest = ((bucketOf(event.at, level) - buckets) * LEVELS[level].size) / SIGHT_UNIT;
      // Each window reaches further back than the one before, so the search goes on where that ended.
      position = firstSince(list, oldest, position);
      values[first + w] = (list.length - position) / 2;
    }
    const key = event.keys[counterparts[c] as EntityKind];
    if (key !== undefined) {
      const isKnown = isKnownSince(list, counterpartHash(key), oldest);
      values[first + WINDOWS.length] = isKnown ? 0 : 1;
    }
  }
}

function writeAccountAge(values: number[], state: EntityState | undefined, event: RiskEvent): void {
  const own = event.facts.account_age_days;
  if (own !== undefined) values[ACCOUNT_AGE] = own;
  else if (state?.accountOpenedAt !== undefined)
    values[ACCOUNT_AGE] = Math.max(0, (event.at - state.accountOpenedAt) / MS_PER_DAY);
}
