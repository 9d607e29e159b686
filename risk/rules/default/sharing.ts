import type { Rule } from '../rule.ts';

/** Things that one person owns one or two of, seen together with many counterparts. */
export const SHARING_RULES: readonly Rule[] = [
  {
    id: 'device_many_cards_24h',
    reason: 'MANY_CARDS_ON_DEVICE',
    group: 'device_cards',
    points: 45,
    applies: "event.is_payment && event.channel != 'POS'",
    when: 'features.device_cards_24h >= limit',
    limits: { limit: 5 },
    message:
      '{features.device_cards_24h} different cards on this device within 24 hours (threshold {limit}).',
    cases: [
      { features: { device_cards_24h: 5 }, answer: 'HIT' },
      { features: { device_cards_24h: 4 }, answer: 'NO_HIT' },
      { event: { channel: 'POS' }, features: { device_cards_24h: 50 }, answer: 'NOT_APPLICABLE' },
      { features: { card_attempts_1h: 1 }, answer: 'NOT_APPLICABLE' },
    ],
  },
  {
    id: 'device_many_cards_30d',
    reason: 'MANY_CARDS_ON_DEVICE',
    group: 'device_cards',
    points: 40,
    applies: "event.is_payment && event.channel != 'POS'",
    when: 'features.device_cards_30d >= limit',
    limits: { limit: 10 },
    message:
      '{features.device_cards_30d} different cards on this device within 30 days (threshold {limit}).',
    cases: [
      { features: { device_cards_30d: 100 }, answer: 'HIT' },
      { features: { device_cards_30d: 9 }, answer: 'NO_HIT' },
    ],
  },
  {
    id: 'device_many_customers_7d',
    reason: 'MANY_CUSTOMERS_ON_DEVICE',
    group: 'device_cards',
    points: 35,
    applies: "event.is_payment && event.channel != 'POS'",
    when: 'features.device_customers_7d >= limit',
    limits: { limit: 5 },
    message:
      '{features.device_customers_7d} different customers on this device within 7 days (threshold {limit}).',
    cases: [
      { features: { device_customers_7d: 5 }, answer: 'HIT' },
      { features: { device_customers_7d: 4 }, answer: 'NO_HIT' },
    ],
  },
  {
    id: 'customer_many_cards_24h',
    reason: 'MANY_CARDS_OF_CUSTOMER',
    points: 35,
    applies: 'event.is_payment',
    when: 'features.customer_cards_24h >= limit',
    limits: { limit: 4 },
    message:
      '{features.customer_cards_24h} different cards of this customer within 24 hours (threshold {limit}).',
    cases: [
      { features: { customer_cards_24h: 4 }, answer: 'HIT' },
      { features: { customer_cards_24h: 3 }, answer: 'NO_HIT' },
    ],
  },
  {
    id: 'card_many_customers_30d',
    reason: 'CARD_SHARED_BY_CUSTOMERS',
    points: 35,
    applies: 'event.is_payment',
    when: 'features.card_customers_30d >= limit',
    limits: { limit: 3 },
    message:
      'This card was used by {features.card_customers_30d} different customers within 30 days (threshold {limit}).',
    cases: [
      { features: { card_customers_30d: 3 }, answer: 'HIT' },
      { features: { card_customers_30d: 2 }, answer: 'NO_HIT' },
    ],
  },
  {
    id: 'card_many_networks_1h',
    reason: 'CARD_ON_MANY_NETWORKS',
    points: 25,
    applies: 'event.is_payment',
    when: 'features.card_ip_prefixes_1h >= limit',
    limits: { limit: 4 },
    message:
      'This card was used from {features.card_ip_prefixes_1h} different networks within 1 hour (threshold {limit}).',
    cases: [
      { features: { card_ip_prefixes_1h: 4 }, answer: 'HIT' },
      { features: { card_ip_prefixes_1h: 3 }, answer: 'NO_HIT' },
    ],
  },
  {
    id: 'card_many_merchants_1h',
    reason: 'CARD_AT_MANY_MERCHANTS',
    points: 30,
    applies: 'event.is_payment',
    when: 'features.card_merchants_1h >= limit',
    limits: { limit: 5 },
    message:
      'This card was used at {features.card_merchants_1h} different merchants within 1 hour (threshold {limit}).',
    cases: [
      { features: { card_merchants_1h: 5 }, answer: 'HIT' },
      { features: { card_merchants_1h: 4 }, answer: 'NO_HIT' },
    ],
  },
  {
    id: 'customer_all_new',
    reason: 'ACCOUNT_TAKEOVER',
    points: 20,
    applies: 'event.is_payment',
    needs: { customer_attempts_total: 3 },
    when: 'features.customer_device_is_new == 1.0 && features.customer_card_is_new == 1.0 && features.customer_ip_prefix_is_new == 1.0',
    message:
      'Card, device and network are all new for a customer with {features.customer_attempts_total} earlier payment attempts.',
    cases: [
      { features: allNew(3), answer: 'HIT' },
      { features: { ...allNew(3), customer_device_is_new: 0 }, answer: 'NO_HIT' },
      { features: allNew(2), answer: 'INSUFFICIENT_HISTORY' },
      { features: { customer_attempts_total: 9 }, answer: 'INSUFFICIENT_HISTORY' },
    ],
  },
];

function allNew(attempts: number): Record<string, number> {
  return {
    customer_attempts_total: attempts,
    customer_device_is_new: 1,
    customer_card_is_new: 1,
    customer_ip_prefix_is_new: 1,
  };
}
