import { ENTITY_KINDS, type EntityKind } from '../entities.ts';
import { COUNTERPARTS, MAX_COUNTERPARTS, MAX_RECENT } from './state.ts';
import { WINDOWS, type WindowName } from './windows.ts';

/** In what a feature is measured; amounts (minor units of the event's currency) never appear in a reason. */
export type FeatureUnit = 'count' | 'flag' | 'seconds' | 'days' | 'ratio' | 'amount';

/** One number that rules and models may read as `features.<name>` (label counts as `labels.<name>`). */
export interface FeatureDefinition {
  readonly name: string;
  /** Whose history it describes; absent where it is the event's own. */
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

type Measure = Pick<FeatureDefinition, 'measure' | 'unit' | 'meaning' | 'cap'>;

/** Measures of every entity over windows. Absent only where the meaning says so, otherwise 0 without history. */
const WINDOWED: readonly (Measure & { windows: readonly WindowName[] })[] = [
  { measure: 'attempts', unit: 'count', windows: ALL, meaning: 'payment attempts' },
  { measure: 'approvals', unit: 'count', windows: ALL, meaning: 'approved payments' },
  { measure: 'declines', unit: 'count', windows: ALL, meaning: 'declined payments' },
  { measure: 'refunds', unit: 'count', windows: DAILY, meaning: 'refunds' },
  { measure: 'cancels', unit: 'count', windows: DAILY, meaning: 'cancels' },
  { measure: 'chargebacks', unit: 'count', windows: DAILY, meaning: 'chargebacks' },
  {
    measure: 'amount_count',
    unit: 'count',
    windows: FROM_HOUR,
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
    measure: 'amount_ratio',
    unit: 'ratio',
    windows: LONG,
    meaning: "the event's amount / amount_mean; absent without one, or where the mean is 0",
  },
  {
    measure: 'amount_z',
    unit: 'ratio',
    windows: LONG,
    meaning:
      "(the event's amount - amount_mean) / the largest of amount_deviation, a tenth of the mean, and 1; absent with fewer than two",
  },
];

/** Measures of every entity without a window. */
const PLAIN: readonly Measure[] = [
  { measure: 'known', unit: 'flag', meaning: '1 if any event of it was absorbed before, else 0' },
  {
    measure: 'age_seconds',
    unit: 'seconds',
    meaning: 'time since its earliest event; 0 for an unknown one',
  },
  {
    measure: 'idle_seconds',
    unit: 'seconds',
    meaning: 'time since its last attempt at or before the event; absent where none is kept',
  },
  { measure: 'attempts_total', unit: 'count', meaning: 'payment attempts ever' },
  {
    measure: 'declines_in_row',
    unit: 'count',
    cap: MAX_RECENT,
    meaning: 'declined payments since the last approved one',
  },
  { measure: 'fraud_confirmed', unit: 'count', meaning: 'its events labelled FRAUD_CONFIRMED' },
  {
    measure: 'chargeback_confirmed',
    unit: 'count',
    meaning: 'its events labelled CHARGEBACK_CONFIRMED',
  },
  { measure: 'false_positive', unit: 'count', meaning: 'its events labelled FALSE_POSITIVE' },
];

/** Measures that are read as `labels.<name>`: everything else is `features.<name>`. */
export const LABEL_MEASURES: ReadonlySet<string> = new Set([
  'fraud_confirmed',
  'chargeback_confirmed',
  'false_positive',
]);

const PLURAL: Record<EntityKind, string> = {
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
];
/** Version of {@link FEATURES}, stored with every vector. */
export const FEATURES_VERSION = 1;

const POSITIONS: ReadonlyMap<string, number> = new Map(
  FEATURES.map((feature, position) => [feature.name, position]),
);

/** Position of a feature's value in a vector; undefined for a name that no feature has. */
export function featurePosition(name: string): number | undefined {
  return POSITIONS.get(name);
}

function featuresOf(entity: EntityKind): FeatureDefinition[] {
  const windowed = WINDOWED.flatMap(({ windows, ...measure }) =>
    windows.map((window) => ({
      ...measure,
      name: `${entity}_${measure.measure}_${window}`,
      entity,
      window,
    })),
  );
  const plain = PLAIN.map((measure) => ({
    ...measure,
    name: `${entity}_${measure.measure}`,
    entity,
  }));
  const counterparts = COUNTERPARTS[entity].flatMap((counterpart) => [
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
  return [...windowed, ...plain, ...counterparts];
}
