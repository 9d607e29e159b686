import type { Rule } from '../rule.ts';

/** Pace of one card, customer, device or network against what a person does. Windows count earlier attempts only. */
export const VELOCITY_RULES: readonly Rule[] = [
  velocity('card', 'card', '1m', '1 minute', 3, 35),
  velocity('card', 'card', '1h', '1 hour', 8, 40),
  velocity('card', 'card', '24h', '24 hours', 20, 35),
  velocity('customer', 'customer', '1m', '1 minute', 4, 30),
  velocity('customer', 'customer', '1h', '1 hour', 10, 35),
  velocity('customer', 'customer', '24h', '24 hours', 25, 30),
  pace('device', 'device', '1m', '1 minute', 6, 43_200, 30),
  pace('device', 'device', '1h', '1 hour', 20, 720, 30),
  pace('device', 'device', '24h', '24 hours', 60, 30, 30),
  pace('ip_prefix', 'network', '1m', '1 minute', 20, 43_200, 25),
  pace('ip_prefix', 'network', '1h', '1 hour', 100, 720, 25),
  pace('ip_prefix', 'network', '24h', '24 hours', 500, 30, 20),
];

/** A card or a customer is one person: a fixed limit fits all. */
function velocity(
  entity: 'card' | 'customer',
  words: string,
  window: string,
  windowWords: string,
  limit: number,
  points: number,
): Rule {
  const feature = `${entity}_attempts_${window}`;
  return {
    id: `${entity}_velocity_${window}`,
    reason: `${entity.toUpperCase()}_VELOCITY`,
    group: `${entity}_velocity`,
    points,
    applies: 'event.is_payment',
    when: `features.${feature} >= limit`,
    limits: { limit },
    message: `{features.${feature}} earlier payment attempts with this ${words} within ${windowWords} (threshold {limit}).`,
    cases: [
      { features: { [feature]: limit }, answer: 'HIT' },
      { features: { [feature]: limit - 1 }, answer: 'NO_HIT' },
      { features: {}, answer: 'NOT_APPLICABLE' },
      {
        event: { event_type: 'PAYMENT_REFUND', is_payment: false, is_return: true },
        features: { [feature]: limit },
        answer: 'NOT_APPLICABLE',
      },
    ],
  };
}

/**
 * A device may be a shop's terminal and a network a whole carrier, so the number must also be far above the entity's
 * own pace: `times` its mean over 30 days, of which the window is 1 / `windows`.
 */
function pace(
  entity: 'device' | 'ip_prefix',
  words: string,
  window: string,
  windowWords: string,
  limit: number,
  windows: number,
  points: number,
): Rule {
  const feature = `${entity}_attempts_${window}`;
  const month = `${entity}_attempts_30d`;
  // A day's window is at most the month's whole history, so ten times the daily mean needs a month of it.
  const times = window === '24h' ? 5 : 10;
  return {
    id: `${entity}_velocity_${window}`,
    reason: `${entity.toUpperCase()}_VELOCITY`,
    group: `${entity}_velocity`,
    points,
    applies: "event.is_payment && event.channel != 'POS'",
    when: `features.${feature} >= limit && features.${feature} * windows >= times * features.${month}`,
    limits: { limit, windows, times },
    message: `{features.${feature}} earlier payment attempts from this ${words} within ${windowWords} (threshold {limit}, and {times} times its mean over 30 days).`,
    cases: [
      { features: { [feature]: limit, [month]: limit }, answer: 'HIT' },
      { features: { [feature]: limit - 1, [month]: limit - 1 }, answer: 'NO_HIT' },
      { features: { [feature]: limit, [month]: limit * windows }, answer: 'NO_HIT' },
      {
        event: { channel: 'POS' },
        features: { [feature]: limit, [month]: limit },
        answer: 'NOT_APPLICABLE',
      },
    ],
  };
}
