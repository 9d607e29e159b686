import type { Rule } from '../rule.ts';

/** Probing shows in declines first: stolen numbers are tried until one works. */
export const DECLINE_RULES: readonly Rule[] = [
  {
    id: 'card_declines_before_approval',
    reason: 'DECLINES_BEFORE_APPROVAL',
    group: 'declines_before_approval',
    points: 45,
    applies: "event.is_payment && event.status == 'APPROVED'",
    when: 'features.card_declines_in_row >= limit && features.card_idle_seconds <= within_seconds',
    limits: { limit: 3, within_seconds: 86_400 },
    message:
      'Approved after {features.card_declines_in_row} declines in a row on this card, the last within {within_seconds} (threshold {limit}).',
    cases: [
      { features: { card_declines_in_row: 3, card_idle_seconds: 60 }, answer: 'HIT' },
      { features: { card_declines_in_row: 2, card_idle_seconds: 60 }, answer: 'NO_HIT' },
      { features: { card_declines_in_row: 3, card_idle_seconds: 86_401 }, answer: 'NO_HIT' },
      { features: { card_known: 0 }, answer: 'INSUFFICIENT_HISTORY' },
      {
        event: { status: 'DECLINED' },
        features: { card_declines_in_row: 3, card_idle_seconds: 60 },
        answer: 'NOT_APPLICABLE',
      },
    ],
  },
  {
    id: 'customer_declines_before_approval',
    reason: 'DECLINES_BEFORE_APPROVAL',
    group: 'declines_before_approval',
    points: 40,
    applies: "event.is_payment && event.status == 'APPROVED'",
    when: 'features.customer_declines_in_row >= limit && features.customer_idle_seconds <= within_seconds',
    limits: { limit: 4, within_seconds: 86_400 },
    message:
      'Approved after {features.customer_declines_in_row} declines in a row of this customer, the last within {within_seconds} (threshold {limit}).',
    cases: [
      { features: { customer_declines_in_row: 4, customer_idle_seconds: 60 }, answer: 'HIT' },
      { features: { customer_declines_in_row: 3, customer_idle_seconds: 60 }, answer: 'NO_HIT' },
    ],
  },
  {
    id: 'device_declines_before_approval',
    reason: 'DECLINES_BEFORE_APPROVAL',
    group: 'declines_before_approval',
    points: 40,
    applies: "event.is_payment && event.status == 'APPROVED' && event.channel != 'POS'",
    when: 'features.device_declines_in_row >= limit && features.device_idle_seconds <= within_seconds',
    limits: { limit: 4, within_seconds: 86_400 },
    message:
      'Approved after {features.device_declines_in_row} declines in a row on this device, the last within {within_seconds} (threshold {limit}).',
    cases: [
      { features: { device_declines_in_row: 16, device_idle_seconds: 0 }, answer: 'HIT' },
      { features: { device_declines_in_row: 3, device_idle_seconds: 0 }, answer: 'NO_HIT' },
    ],
  },
  {
    id: 'card_declines_24h',
    reason: 'MANY_DECLINES',
    points: 30,
    applies: 'event.is_payment',
    when: 'features.card_declines_24h >= limit',
    limits: { limit: 5 },
    message:
      '{features.card_declines_24h} declines on this card within 24 hours (threshold {limit}).',
    cases: [
      { features: { card_declines_24h: 5 }, answer: 'HIT' },
      { features: { card_declines_24h: 4 }, answer: 'NO_HIT' },
    ],
  },
  {
    id: 'device_card_testing_1h',
    reason: 'CARD_TESTING',
    group: 'card_testing',
    points: 65,
    applies: "event.is_payment && event.channel != 'POS'",
    when: 'features.device_declines_1h >= limit && features.device_cards_1h >= cards',
    limits: { limit: 4, cards: 4 },
    message:
      '{features.device_declines_1h} declines over {features.device_cards_1h} different cards on this device within 1 hour (thresholds {limit} and {cards}).',
    cases: [
      { features: { device_declines_1h: 4, device_cards_1h: 4 }, answer: 'HIT' },
      { features: { device_declines_1h: 3, device_cards_1h: 9 }, answer: 'NO_HIT' },
      { features: { device_declines_1h: 9, device_cards_1h: 3 }, answer: 'NO_HIT' },
    ],
  },
  {
    id: 'ip_prefix_card_testing_1h',
    reason: 'CARD_TESTING',
    group: 'card_testing',
    points: 55,
    applies: "event.is_payment && event.channel != 'POS'",
    when: 'features.ip_prefix_declines_1h >= limit && features.ip_prefix_cards_1h >= cards && features.ip_prefix_declines_1h >= share * features.ip_prefix_attempts_1h',
    limits: { limit: 8, cards: 6, share: 0.5 },
    message:
      '{features.ip_prefix_declines_1h} declines of {features.ip_prefix_attempts_1h} attempts, over {features.ip_prefix_cards_1h} different cards, from this network within 1 hour (thresholds {limit} declines, {cards} cards, share {share}).',
    cases: [
      {
        features: { ip_prefix_declines_1h: 8, ip_prefix_cards_1h: 6, ip_prefix_attempts_1h: 16 },
        answer: 'HIT',
      },
      {
        features: { ip_prefix_declines_1h: 8, ip_prefix_cards_1h: 6, ip_prefix_attempts_1h: 17 },
        answer: 'NO_HIT',
      },
      {
        features: { ip_prefix_declines_1h: 8, ip_prefix_cards_1h: 5, ip_prefix_attempts_1h: 9 },
        answer: 'NO_HIT',
      },
    ],
  },
  {
    id: 'merchant_declines_1h',
    reason: 'MERCHANT_UNDER_ATTACK',
    points: 15,
    applies: 'event.is_payment',
    needs: { merchant_attempts_30d: 200 },
    when: 'features.merchant_declines_1h >= limit && features.merchant_declines_1h >= share * features.merchant_attempts_1h && features.merchant_declines_30d <= usual * features.merchant_attempts_30d',
    limits: { limit: 20, share: 0.5, usual: 0.2 },
    message:
      '{features.merchant_declines_1h} declines of {features.merchant_attempts_1h} attempts at this merchant within 1 hour (thresholds {limit} and share {share}; its usual share is below {usual}).',
    cases: [
      { features: attack(20, 40, 100, 500), answer: 'HIT' },
      { features: attack(20, 41, 100, 500), answer: 'NO_HIT' },
      { features: attack(20, 40, 101, 500), answer: 'NO_HIT' },
      { features: attack(20, 40, 20, 199), answer: 'INSUFFICIENT_HISTORY' },
    ],
  },
];

function attack(
  declines: number,
  attempts: number,
  monthDeclines: number,
  monthAttempts: number,
): Record<string, number> {
  return {
    merchant_declines_1h: declines,
    merchant_attempts_1h: attempts,
    merchant_declines_30d: monthDeclines,
    merchant_attempts_30d: monthAttempts,
  };
}
