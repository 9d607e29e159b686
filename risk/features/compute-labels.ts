import type { EntityKind } from '../entities.ts';
import type { EntityLabels, LabelDay } from '../labels.ts';
import { featurePosition } from './definitions.ts';
import { COUNT_STRIDES, type EntityState } from './state.ts';
import { bucketOf } from './windows.ts';

/** Days of arrival that each window reaches back, and the name that ends its features. */
const WINDOWS = [
  { name: '24h', days: 1 },
  { name: '7d', days: 7 },
  { name: '30d', days: 30 },
] as const;
const LONGEST = 30;

/** Attempts are kept for 30 days, the running one and these more: labels later than that meet no attempts. */
const LONGEST_DELAY = 7;

/** Positions of the label features of one entity kind; -1 for one that it has not. */
export interface LabelPlan {
  readonly totals: readonly [fraud: number, chargeback: number, falsePositive: number];
  /** By {@link WINDOWS}. */
  readonly labelled: readonly number[];
  readonly shares: readonly number[];
  readonly falsePositives: number;
  readonly delay: number;
  readonly first: number;
  readonly last: number;
  readonly runShare: number;
  readonly after: number;
  readonly before: number;
}

/** Looks the positions up, once for each kind. */
export function labelPlan(kind: EntityKind): LabelPlan {
  const position = (measure: string): number => featurePosition(`${kind}_${measure}`) ?? -1;
  return {
    totals: [
      position('fraud_confirmed'),
      position('chargeback_confirmed'),
      position('false_positive'),
    ],
    labelled: WINDOWS.map(({ name }) => position(`frauds_labelled_${name}`)),
    shares: WINDOWS.map(({ name }) => position(`fraud_share_${name}`)),
    falsePositives: position('false_positives_labelled_30d'),
    delay: position('fraud_delay_days'),
    first: position('first_fraud_seconds'),
    last: position('last_fraud_seconds'),
    runShare: position('fraud_run_share'),
    after: position('attempts_after_fraud'),
    before: position('attempts_before_fraud'),
  };
}

/** Writes the label features of one entity. */
export function writeLabels(
  values: number[],
  plan: LabelPlan,
  labels: EntityLabels,
  state: EntityState | undefined,
  at: number,
): void {
  values[plan.totals[0]] = labels.fraudConfirmed;
  if (plan.totals[1] >= 0) values[plan.totals[1]] = labels.chargebackConfirmed;
  values[plan.totals[2]] = labels.falsePositive;
  if (plan.falsePositives < 0) return;
  const today = bucketOf(at, 3);
  values[plan.falsePositives] = 0;
  for (let w = 0; w < WINDOWS.length; w++) {
    values[plan.labelled[w] as number] = 0;
    values[plan.shares[w] as number] = 0;
  }
  if (labels.days.length === 0) return;

  let falsePositives = 0;
  let frauds = 0;
  let delays = 0;
  let first = Infinity;
  let last = -Infinity;
  for (const day of labels.days) {
    if (day.day < today - LONGEST) continue;
    falsePositives += day.falsePositives;
    if (day.frauds === 0) continue;
    frauds += day.frauds;
    delays += day.delaySeconds;
    first = Math.min(first, day.firstFraudAt);
    last = Math.max(last, day.lastFraudAt);
  }
  values[plan.falsePositives] = falsePositives;
  if (frauds === 0) return;

  const delay = Math.min(LONGEST_DELAY, Math.max(0, Math.round(delays / frauds / 86_400)));
  for (let w = 0; w < WINDOWS.length; w++) {
    const { days } = WINDOWS[w] as (typeof WINDOWS)[number];
    const labelled = labelledSince(labels.days, today - days);
    values[plan.labelled[w] as number] = labelled;
    if (labelled === 0) continue;
    values[plan.shares[w] as number] = share(
      labelled,
      attemptsOf(state, today - delay - days, today - delay),
    );
  }
  const firstDay = bucketOf(first, 3);
  const lastDay = bucketOf(last, 3);
  values[plan.delay] = delay;
  values[plan.first] = Math.max(0, at - first) / 1000;
  values[plan.last] = Math.max(0, at - last) / 1000;
  values[plan.runShare] = share(frauds, attemptsOf(state, firstDay, lastDay));
  values[plan.after] = attemptsOf(state, lastDay + 1, today - delay - 1);
  values[plan.before] = attemptsOf(state, -Infinity, firstDay - 1);
}

function labelledSince(days: readonly LabelDay[], from: number): number {
  let frauds = 0;
  for (const day of days) if (day.day >= from) frauds += day.frauds;
  return frauds;
}

/** To thousandths, at most 1: attempts may have been dropped, or come after their labels. */
function share(frauds: number, attempts: number): number {
  return attempts <= frauds ? 1 : Math.round((frauds / attempts) * 1000) / 1000;
}

/** Attempts of the entity in the kept days `from` to `to`, both included. */
function attemptsOf(state: EntityState | undefined, from: number, to: number): number {
  if (state === undefined) return 0;
  const days = state.counts[3];
  let attempts = 0;
  for (let at = 0; at < days.length; at += COUNT_STRIDES[3]) {
    const day = days[at] as number;
    if (day >= from && day <= to) attempts += days[at + 1] as number;
  }
  return attempts;
}
