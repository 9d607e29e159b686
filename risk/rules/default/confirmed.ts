import type { Rule } from '../rule.ts';

/**
 * What outcome labels have confirmed. A card stays compromised after one fraud. Everything else is shared or lives on
 * (the victim keeps the customer id, the shop its terminal), so there the share of its attempts decides.
 */
export const CONFIRMED_RULES: readonly Rule[] = [
  {
    id: 'card_fraud_confirmed',
    reason: 'CONFIRMED_FRAUD',
    group: 'confirmed_fraud',
    points: 90,
    applies: 'event.is_payment',
    when: 'labels.card_fraud_confirmed >= limit && labels.card_fraud_confirmed > labels.card_false_positive',
    limits: { limit: 1 },
    message: 'This card has {labels.card_fraud_confirmed} confirmed frauds (threshold {limit}).',
    cases: [
      { features: { card_fraud_confirmed: 1 }, answer: 'HIT' },
      { features: { card_fraud_confirmed: 1, card_false_positive: 1 }, answer: 'NO_HIT' },
      { features: { card_fraud_confirmed: 0 }, answer: 'NO_HIT' },
      { answer: 'NOT_APPLICABLE' },
    ],
  },
  {
    id: 'card_chargeback_confirmed',
    reason: 'CONFIRMED_CHARGEBACK',
    group: 'confirmed_fraud',
    points: 65,
    applies: 'event.is_payment',
    when: 'labels.card_chargeback_confirmed >= limit',
    limits: { limit: 1 },
    message:
      'This card has {labels.card_chargeback_confirmed} confirmed chargebacks (threshold {limit}).',
    cases: [
      { features: { card_chargeback_confirmed: 1 }, answer: 'HIT' },
      { features: { card_chargeback_confirmed: 0 }, answer: 'NO_HIT' },
    ],
  },
  shared('customer', 'customer', 1, 0.1, 60),
  shared('device', 'device', 1, 0.1, 65),
  shared('ip_prefix', 'network', 3, 0.05, 35),
  shared('merchant', 'merchant', 3, 0.02, 30),
];

function shared(
  entity: 'customer' | 'device' | 'ip_prefix' | 'merchant',
  words: string,
  limit: number,
  share: number,
  points: number,
): Rule {
  const fraud = `${entity}_fraud_confirmed`;
  const attempts = `${entity}_attempts_total`;
  return {
    id: fraud,
    reason: 'CONFIRMED_FRAUD',
    group: entity === 'merchant' ? 'confirmed_fraud_merchant' : 'confirmed_fraud',
    points,
    applies: 'event.is_payment',
    when: `labels.${fraud} >= limit && labels.${fraud} >= share * features.${attempts} && labels.${fraud} > labels.${entity}_false_positive`,
    limits: { limit, share },
    message: `{labels.${fraud}} confirmed frauds in {features.${attempts}} payment attempts of this ${words} (thresholds {limit} and share {share}).`,
    cases: [
      { features: { [fraud]: limit, [attempts]: limit / share }, answer: 'HIT' },
      { features: { [fraud]: limit, [attempts]: limit / share + 1 }, answer: 'NO_HIT' },
      { features: { [fraud]: limit - 1, [attempts]: 1 }, answer: 'NO_HIT' },
      {
        features: { [fraud]: limit, [attempts]: 1, [`${entity}_false_positive`]: limit },
        answer: 'NO_HIT',
      },
    ],
  };
}
