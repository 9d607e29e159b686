import type { EntityKind } from '../entities.ts';
import { FEATURES, type FeatureDefinition } from '../features/definitions.ts';
import type { Features } from '../features/vector.ts';
import { WINDOWS } from '../features/windows.ts';
import { wordValue } from '../rules/sentence.ts';
import { contributionsOf } from './forest.ts';
import type { Model } from './model.ts';

const ENTITY_WORDS: Record<EntityKind, string> = {
  card: 'the card',
  customer: 'the customer',
  device: 'the device',
  ip_prefix: 'the network',
  merchant: 'the merchant',
  card_merchant: 'the card at the merchant',
  customer_device: 'the customer on the device',
};

/** What a measure is called in a reason; a measure without an entry is called by its name. */
const MEASURE_WORDS: Readonly<Record<string, string>> = {
  attempts: 'payment attempts',
  amount_count: 'approved payments',
  amount_sum: 'the amounts paid',
  amount_mean: 'the mean amount',
  amount_max: 'the largest amount',
  amount_deviation: 'the spread of the amounts',
  amount_ratio: 'the amount, in means',
  amount_max_ratio: 'the amount, in largest earlier ones',
  amount_typical: 'the typical amount',
  amount_typical_ratio: 'the amount, in typical ones',
  amount_z: 'deviations of the amount from the mean',
  known: 'known before',
  age_seconds: 'time since first seen',
  idle_seconds: 'time since the last attempt',
  attempts_total: 'payment attempts ever',
  declines_in_row: 'declines in a row',
  fraud_confirmed: 'confirmed frauds',
  chargeback_confirmed: 'confirmed chargebacks',
  false_positive: 'false alarms',
  frauds_labelled: 'frauds confirmed',
  fraud_share: 'share of confirmed frauds',
  false_positives_labelled: 'false alarms',
  fraud_delay_days: 'time until frauds are confirmed',
  first_fraud_seconds: 'time since the first confirmed fraud',
  last_fraud_seconds: 'time since the last confirmed fraud',
  fraud_run_share: 'share of frauds between the first and the last',
  attempts_after_fraud: 'attempts after the last confirmed fraud',
  attempts_before_fraud: 'attempts before the first confirmed fraud',
  event_amount: 'the amount',
  event_currency: 'the currency',
  event_status: 'the status',
  event_channel: 'the channel',
  event_hour: 'the time of day',
  event_weekday: 'the day of the week',
  event_installments: 'the number of instalments',
  event_cross_border: 'crossing a border',
};

/** Reasons name at most this many observations. */
const SHOWN = 3;

/**
 * The public sentence about a model's probability: what raised it most, strongest first. Of one entity and measure only
 * the strongest window is named. Shows numbers, ratios and times, never an amount.
 */
export function wordModel(model: Model, { values }: Features, probability: number): string {
  const raising = [...contributionsOf(model.forest, values)]
    .filter(([, change]) => change > 0)
    .toSorted(([a, x], [b, y]) => y - x || a - b);
  const named = new Map<string, string>();
  for (const [position] of raising) {
    const definition = FEATURES[position] as FeatureDefinition;
    const subject = `${definition.entity ?? ''} ${definition.measure}`;
    if (!named.has(subject)) named.set(subject, word(definition, values[position]));
    if (named.size === SHOWN) break;
  }
  const percent = probability * 100;
  const shown = percent >= 10 ? percent.toFixed(0) : percent.toFixed(1);
  const sentence = `The model sees a fraud probability of ${shown} %`;
  return named.size === 0
    ? `${sentence}.`
    : `${sentence}, raised most by ${[...named.values()].join('; ')}.`;
}

function word(definition: FeatureDefinition, value: number | undefined): string {
  const { entity, measure, unit, window } = definition;
  const parts = [MEASURE_WORDS[measure] ?? measure.replace(/^event_/, '').replaceAll('_', ' ')];
  if (entity !== undefined) parts.push(`of ${ENTITY_WORDS[entity]}`);
  if (window !== undefined) {
    parts.push(`within ${WINDOWS.find(({ name }) => name === window)?.words ?? window}`);
  }
  const isShown = unit !== 'amount' && unit !== 'code' && value !== undefined;
  if (!isShown) return parts.join(' ');
  return `${parts.join(' ')} (${Number.isNaN(value) ? 'unknown' : wordValue(definition, value)})`;
}
