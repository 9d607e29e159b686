import type { Rule } from '../rule.ts';

const RETURN = { event_type: 'PAYMENT_REFUND', is_payment: false, is_return: true } as const;

/** Money going back: refunds without a payment, and people who live on refunds. */
export const RETURN_RULES: readonly Rule[] = [
  {
    id: 'return_unknown_original',
    reason: 'UNKNOWN_ORIGINAL',
    group: 'unknown_original',
    points: 35,
    applies: 'event.is_return && has(features.original_known)',
    when: 'features.original_known == 0.0',
    message:
      'A refund or cancel names an original transaction that the service does not know (it may arrive later).',
    cases: [
      { event: RETURN, features: { original_known: 0 }, answer: 'HIT' },
      { event: RETURN, features: { original_known: 1 }, answer: 'NO_HIT' },
      { event: RETURN, answer: 'NOT_APPLICABLE' },
      { features: { original_known: 0 }, answer: 'NOT_APPLICABLE' },
    ],
  },
  {
    id: 'unknown_original',
    reason: 'UNKNOWN_ORIGINAL',
    group: 'unknown_original',
    points: 10,
    applies: 'has(features.original_known)',
    when: 'features.original_known == 0.0',
    message:
      'The event names an original transaction that the service does not know (it may arrive later).',
    cases: [
      { features: { original_known: 0 }, answer: 'HIT' },
      { features: { original_known: 1 }, answer: 'NO_HIT' },
      { answer: 'NOT_APPLICABLE' },
    ],
  },
  ...refundAbuse('customer', 'customer', 50),
  ...refundAbuse('card', 'card', 45),
  {
    id: 'card_chargebacks_30d',
    reason: 'CHARGEBACKS',
    group: 'chargebacks',
    points: 45,
    applies: 'event.is_payment',
    when: 'features.card_chargebacks_30d >= limit',
    limits: { limit: 1 },
    message:
      '{features.card_chargebacks_30d} chargebacks on this card within 30 days (threshold {limit}).',
    cases: [
      { features: { card_chargebacks_30d: 1 }, answer: 'HIT' },
      { features: { card_chargebacks_30d: 0 }, answer: 'NO_HIT' },
    ],
  },
  {
    id: 'customer_chargebacks_30d',
    reason: 'CHARGEBACKS',
    group: 'chargebacks',
    points: 40,
    applies: 'event.is_payment',
    when: 'features.customer_chargebacks_30d >= limit',
    limits: { limit: 2 },
    message:
      '{features.customer_chargebacks_30d} chargebacks of this customer within 30 days (threshold {limit}).',
    cases: [
      { features: { customer_chargebacks_30d: 2 }, answer: 'HIT' },
      { features: { customer_chargebacks_30d: 1 }, answer: 'NO_HIT' },
    ],
  },
];

function refundAbuse(entity: 'card' | 'customer', words: string, points: number): Rule[] {
  const refunds = `${entity}_refunds_30d`;
  const approvals = `${entity}_approvals_30d`;
  const week = `${entity}_refunds_7d`;
  const common = { reason: 'REFUND_ABUSE', group: 'refund_abuse', applies: 'event.is_return' };
  return [
    {
      ...common,
      id: `${entity}_refunds_30d`,
      points,
      when: `features.${refunds} >= limit && features.${refunds} >= share * features.${approvals}`,
      limits: { limit: 4, share: 0.5 },
      message: `{features.${refunds}} earlier refunds against {features.${approvals}} approved payments of this ${words} within 30 days (thresholds {limit} and share {share}).`,
      cases: [
        { event: RETURN, features: { [refunds]: 4, [approvals]: 8 }, answer: 'HIT' },
        { event: RETURN, features: { [refunds]: 4, [approvals]: 9 }, answer: 'NO_HIT' },
        { event: RETURN, features: { [refunds]: 3, [approvals]: 3 }, answer: 'NO_HIT' },
        { features: { [refunds]: 9 }, answer: 'NOT_APPLICABLE' },
      ],
    },
    {
      ...common,
      id: `${entity}_refunds_7d`,
      points: points - 5,
      when: `features.${week} >= limit`,
      limits: { limit: 5 },
      message: `{features.${week}} earlier refunds of this ${words} within 7 days (threshold {limit}).`,
      cases: [
        { event: RETURN, features: { [week]: 5 }, answer: 'HIT' },
        { event: RETURN, features: { [week]: 4 }, answer: 'NO_HIT' },
      ],
    },
  ];
}
