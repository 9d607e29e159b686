import { ENTITY_KINDS, isPair, type EntityKind, type SingleKind } from '../entities.ts';
import { COUNTERPARTS, MAX_COUNTERPARTS, MAX_RECENT } from './state.ts';
import { WINDOWS, type WindowName } from './windows.ts';

/**
 * In what a feature is measured. Amounts (minor units of the event's currency) and codes (numbers that stand for a word)
 * never appear in a reason.
 */
export type FeatureUnit = 'count' | 'flag' | 'seconds' | 'days' | 'ratio' | 'amount' | 'code';

/** One number that rules and models may read as `features.<name>` (label counts as `labels.<name>`). */
export interface FeatureDefinition {
  readonly name: string;
  /** Whose history it describes; absent where it is the event's own. Features of a pair leave out what its parts say. */
  readonly entity?: EntityKind;
  readonly measure: string;
  readonly window?: WindowName;
  readonly unit: FeatureUnit;
  /** A value that means "this or more". */
  readonly cap?: number;
  /** What the number is, given that the event names the entity. */
  readonly meaning: string;
}

const ALL: readonly WindowName[] = ['1m', '1h', '24h', '7d', '30d'];
const DAILY: readonly WindowName[] = ['24h', '7d', '30d'];
const FROM_HOUR: readonly WindowName[] = ['1h', '24h', '7d', '30d'];
const LONG: readonly WindowName[] = ['7d', '30d'];

type Measure = Pick<FeatureDefinition, 'measure' | 'unit' | 'meaning' | 'cap'> & {
  /** Also of pairs; in the windows given here, where it has windows. */
  readonly ofPairs?: true | readonly WindowName[];
};

/** Measures of every entity over windows. Absent only where the meaning says so, otherwise 0 without history. */
const WINDOWED: readonly (Measure & { windows: readonly WindowName[] })[] = [
  {
    measure: 'attempts',
    unit: 'count',
    windows: ALL,
    ofPairs: DAILY,
    meaning: 'payment attempts',
  },
  { measure: 'approvals', unit: 'count', windows: ALL, meaning: 'approved payments' },
  {
    measure: 'declines',
    unit: 'count',
    windows: ALL,
    ofPairs: DAILY,
    meaning: 'declined payments',
  },
  { measure: 'refunds', unit: 'count', windows: DAILY, meaning: 'refunds' },
  { measure: 'cancels', unit: 'count', windows: DAILY, meaning: 'cancels' },
  { measure: 'chargebacks', unit: 'count', windows: DAILY, meaning: 'chargebacks' },
  {
    measure: 'amount_count',
    unit: 'count',
    windows: FROM_HOUR,
    ofPairs: ['30d'],
    meaning: "approved payments in the event's currency",
  },
  {
    measure: 'amount_sum',
    unit: 'amount',
    windows: FROM_HOUR,
    meaning: "sum of the approved amounts in the event's currency, at most 2^53 - 1 a bucket",
  },
  {
    measure: 'amount_mean',
    unit: 'amount',
    windows: FROM_HOUR,
    ofPairs: ['30d'],
    meaning: 'mean of those amounts; absent without one',
  },
  {
    measure: 'amount_max',
    unit: 'amount',
    windows: LONG,
    meaning: 'largest of those amounts; absent without one',
  },
  {
    measure: 'amount_deviation',
    unit: 'amount',
    windows: LONG,
    meaning: 'population standard deviation of those amounts; absent with fewer than two',
  },
  {
    measure: 'amount_max_ratio',
    unit: 'ratio',
    windows: LONG,
    meaning: "the event's amount / amount_max; absent without one, or where that is 0",
  },
  {
    measure: 'amount_ratio',
    unit: 'ratio',
    windows: LONG,
    ofPairs: ['30d'],
    meaning: "the event's amount / amount_mean; absent without one, or where the mean is 0",
  },
  {
    measure: 'amount_typical',
    unit: 'amount',
    windows: ['30d'],
    meaning:
      "median, over the days with such amounts, of each day's mean (of two in the middle the lower): unlike the mean, some strange payments hardly move it; absent without one",
  },
  {
    measure: 'amount_typical_ratio',
    unit: 'ratio',
    windows: ['30d'],
    meaning: "the event's amount / amount_typical; absent without one, or where that is 0",
  },
  {
    measure: 'amount_z',
    unit: 'ratio',
    windows: LONG,
    ofPairs: ['30d'],
    meaning:
      "(the event's amount - amount_mean) / the largest of amount_deviation, a tenth of the mean, and 1; absent with fewer than two",
  },
];

/** Measures of every entity without a window. */
const PLAIN: readonly Measure[] = [
  {
    measure: 'known',
    unit: 'flag',
    ofPairs: true,
    meaning: '1 if any event of it was absorbed before, else 0',
  },
  {
    measure: 'age_seconds',
    unit: 'seconds',
    ofPairs: true,
    meaning: 'time since its earliest event; 0 for an unknown one',
  },
  {
    measure: 'idle_seconds',
    unit: 'seconds',
    ofPairs: true,
    meaning: 'time since its last attempt at or before the event; absent where none is kept',
  },
  { measure: 'attempts_total', unit: 'count', ofPairs: true, meaning: 'payment attempts ever' },
  {
    measure: 'declines_in_row',
    unit: 'count',
    ofPairs: true,
    cap: MAX_RECENT,
    meaning: 'declined payments since the last approved one',
  },
];

/**
 * Measures of every entity from outcome labels, counted from the arrival of the label: read as `labels.<name>`, the
 * others as `features.<name>`. A fraud is a label FRAUD_CONFIRMED or CHARGEBACK_CONFIRMED.
 */
const LABELS: readonly (Measure & { windows?: readonly WindowName[] })[] = [
  {
    measure: 'fraud_confirmed',
    unit: 'count',
    ofPairs: true,
    meaning: 'its events labelled FRAUD_CONFIRMED',
  },
  {
    measure: 'chargeback_confirmed',
    unit: 'count',
    meaning: 'its events labelled CHARGEBACK_CONFIRMED',
  },
  {
    measure: 'false_positive',
    unit: 'count',
    ofPairs: true,
    meaning: 'its events labelled FALSE_POSITIVE',
  },
  {
    measure: 'frauds_labelled',
    unit: 'count',
    windows: DAILY,
    meaning: 'frauds whose label arrived in the window',
  },
  {
    measure: 'fraud_share',
    unit: 'ratio',
    windows: DAILY,
    meaning:
      'frauds_labelled / attempts in the window shifted back by fraud_delay_days; at most 1; 0 without a fraud',
  },
  {
    measure: 'false_positives_labelled',
    unit: 'count',
    windows: ['30d'],
    meaning: 'labels FALSE_POSITIVE that arrived in the window',
  },
  {
    measure: 'fraud_delay_days',
    unit: 'days',
    meaning:
      'mean delay of the labels of frauds_labelled_30d, in whole days from 0 to 7; absent without one',
  },
  {
    measure: 'first_fraud_seconds',
    unit: 'seconds',
    meaning: 'time since the earliest event of frauds_labelled_30d; absent without one',
  },
  {
    measure: 'last_fraud_seconds',
    unit: 'seconds',
    meaning: 'time since the latest event of frauds_labelled_30d; absent without one',
  },
  {
    measure: 'fraud_run_share',
    unit: 'ratio',
    meaning:
      'frauds_labelled_30d / attempts from the day of the earliest to the day of the latest of those events; at most 1; absent without one',
  },
  {
    measure: 'attempts_after_fraud',
    unit: 'count',
    meaning:
      'attempts after the day of the latest of those events and before the day fraud_delay_days ago: they had time to be labelled; absent without one',
  },
  {
    measure: 'attempts_before_fraud',
    unit: 'count',
    meaning:
      'attempts of the days that are kept before the day of the earliest of those events; absent without one',
  },
];

/** Measures that are read as `labels.<name>`: everything else is `features.<name>`. */
export const LABEL_MEASURES: ReadonlySet<string> = new Set(LABELS.map(({ measure }) => measure));

/** What the event itself says, as numbers that a model can split; a rule reads `event` instead. */
const OF_EVENT: readonly Omit<FeatureDefinition, 'entity' | 'window'>[] = [
  ofEvent('amount', 'amount', 'transaction.amount_minor'),
  ofEvent('currency', 'code', 'the letters of transaction.currency as a number of base 26'),
  ofEvent('status', 'code', 'position of transaction.status in the contract'),
  ofEvent('channel', 'code', 'position of transaction.channel in the contract'),
  ofEvent('hour', 'code', 'hour of the day of the instant, UTC'),
  ofEvent('weekday', 'code', 'day of the week of the instant, UTC; 0 is Monday'),
  ofEvent('installments', 'count', 'transaction.installment_months; absent where not given'),
  ofEvent('cross_border', 'flag', 'transaction.is_cross_border'),
  ofEvent(
    'issuer_differs_from_network',
    'flag',
    'as the fact; absent where a country is not given',
  ),
  ofEvent('issuer_differs_from_shipping', 'flag', 'as the fact'),
  ofEvent('network_differs_from_shipping', 'flag', 'as the fact'),
];

const PLURAL: Record<SingleKind, string> = {
  card: 'cards',
  customer: 'customers',
  device: 'devices',
  ip_prefix: 'ip_prefixes',
  merchant: 'merchants',
};

/**
 * Every feature, in the order of its value in a vector. docs/features.md explains windows and buckets.
 * A change of order or meaning needs a new {@link FEATURES_VERSION}: stored vectors are read by position.
 */
export const FEATURES: readonly FeatureDefinition[] = [
  ...ENTITY_KINDS.flatMap(featuresOf),
  {
    name: 'original_known',
    measure: 'original_known',
    unit: 'flag',
    meaning:
      '1 if the ledger has the event that original_event_id names, 0 if not; absent where the event names none',
  },
  {
    name: 'account_age_days',
    entity: 'customer',
    measure: 'account_age_days',
    unit: 'days',
    meaning:
      "the event's own customer.account_age_days, else the age that the newest profile gives; absent without both",
  },
  ...OF_EVENT,
];
/** Version of {@link FEATURES}, stored with every vector. */
export const FEATURES_VERSION = 2;

const POSITIONS: ReadonlyMap<string, number> = new Map(
  FEATURES.map((feature, position) => [feature.name, position]),
);

/** Position of a feature's value in a vector; undefined for a name that no feature has. */
export function featurePosition(name: string): number | undefined {
  return POSITIONS.get(name);
}

function featuresOf(entity: EntityKind): FeatureDefinition[] {
  return [
    ...measuresOf(entity, WINDOWED),
    ...measuresOf(entity, PLAIN),
    ...measuresOf(entity, LABELS),
    ...counterpartsOf(entity),
  ];
}

function measuresOf(
  entity: EntityKind,
  measures: readonly (Measure & { windows?: readonly WindowName[] })[],
): FeatureDefinition[] {
  return measures.flatMap(({ windows, ofPairs, ...measure }) => {
    if (isPair(entity) && ofPairs === undefined) return [];
    if (windows === undefined) {
      return [{ ...measure, name: `${entity}_${measure.measure}`, entity }];
    }
    const chosen = isPair(entity) && typeof ofPairs === 'object' ? ofPairs : windows;
    return chosen.map((window) => ({
      ...measure,
      name: `${entity}_${measure.measure}_${window}`,
      entity,
      window,
    }));
  });
}

function counterpartsOf(entity: EntityKind): FeatureDefinition[] {
  return COUNTERPARTS[entity].flatMap((counterpart) => [
    ...WINDOWS.map((window) => ({
      name: `${entity}_${PLURAL[counterpart]}_${window.name}`,
      entity,
      measure: PLURAL[counterpart],
      window: window.name,
      unit: 'count' as const,
      cap: MAX_COUNTERPARTS,
      meaning: `distinct ${PLURAL[counterpart]} whose latest attempt lies in the window or after it`,
    })),
    {
      name: `${entity}_${counterpart}_is_new`,
      entity,
      measure: `${counterpart}_is_new`,
      unit: 'flag' as const,
      meaning: `1 if the event's ${counterpart} is none of the last ${MAX_COUNTERPARTS} seen with it in 30 days, else 0; absent where the event names none`,
    },
  ]);
}

function ofEvent(measure: string, unit: FeatureUnit, meaning: string) {
  return { name: `event_${measure}`, measure: `event_${measure}`, unit, meaning };
}
