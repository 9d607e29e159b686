import type { Rule } from '../rule.ts';

/** Amounts against histories in the same currency; no fixed amount, because nobody's normal is another's. */
export const AMOUNT_RULES: readonly Rule[] = [
  ...ownHistory('card', 'card', 40, 55),
  ...ownHistory('customer', 'customer', 35, 50),
  ...unusualSeries('card', 'card', 0),
  ...unusualSeries('customer', 'customer', 5),
  {
    id: 'amount_unusual_for_card_and_merchant',
    reason: 'AMOUNT_UNUSUAL_FOR_CARD_AND_MERCHANT',
    points: 20,
    applies: 'event.is_payment',
    needs: { card_amount_count_30d: 5, merchant_amount_count_30d: 10 },
    when: 'features.card_amount_ratio_30d >= times && features.merchant_amount_ratio_30d >= merchant_times',
    limits: { times: 2.25, merchant_times: 3.5 },
    message:
      'The amount is {features.card_amount_ratio_30d} times the mean of this card and {features.merchant_amount_ratio_30d} times that of this merchant over 30 days (thresholds {times} and {merchant_times}).',
    cases: [
      { features: cardAndMerchant(2.25, 3.5, 10), answer: 'HIT' },
      { features: cardAndMerchant(2.24, 3.5, 10), answer: 'NO_HIT' },
      { features: cardAndMerchant(2.25, 3.4, 10), answer: 'NO_HIT' },
      { features: cardAndMerchant(2.25, 3.5, 9), answer: 'INSUFFICIENT_HISTORY' },
    ],
  },
  {
    id: 'card_spending_24h',
    reason: 'SPENDING_BURST',
    points: 25,
    applies: 'event.is_payment',
    needs: { card_amount_count_30d: 10 },
    when: 'features.card_amount_sum_24h + event.amount_minor >= times * features.card_amount_sum_30d / 30.0 && features.card_amount_count_24h >= payments',
    limits: { times: 10, payments: 3 },
    message:
      'With this payment the card spends at least {times} times its daily mean over 30 days, in {features.card_amount_count_24h} earlier payments within 24 hours (threshold {payments}).',
    cases: [
      {
        event: { amount_minor: 10_000 },
        features: spending(90_000, 3, 300_000, 12),
        answer: 'HIT',
      },
      {
        event: { amount_minor: 9_999 },
        features: spending(90_000, 3, 300_000, 12),
        answer: 'NO_HIT',
      },
      { features: spending(90_000, 2, 300_000, 12), answer: 'NO_HIT' },
      { features: spending(90_000, 3, 300_000, 9), answer: 'INSUFFICIENT_HISTORY' },
    ],
  },
  {
    id: 'new_card_high_amount',
    reason: 'NEW_CARD_HIGH_AMOUNT',
    group: 'new_high_amount',
    points: 35,
    applies: 'event.is_payment',
    needs: { merchant_amount_count_30d: 30 },
    when: 'features.card_age_seconds < young_seconds && features.merchant_amount_ratio_30d >= times && features.merchant_amount_z_30d >= 3.0',
    limits: { young_seconds: 86_400, times: 4 },
    message:
      'A card first seen {features.card_age_seconds} ago (threshold {young_seconds}) pays {features.merchant_amount_ratio_30d} times the mean of this merchant over 30 days (threshold {times}).',
    cases: [
      { features: newHigh(0, 4, 3), answer: 'HIT' },
      { features: newHigh(86_400, 4, 3), answer: 'NO_HIT' },
      { features: newHigh(0, 3.9, 3), answer: 'NO_HIT' },
      { features: newHigh(0, 4, 2.9), answer: 'NO_HIT' },
      {
        features: { ...newHigh(0, 4, 3), merchant_amount_count_30d: 29 },
        answer: 'INSUFFICIENT_HISTORY',
      },
      { features: { merchant_amount_count_30d: 30 }, answer: 'NOT_APPLICABLE' },
    ],
  },
  {
    id: 'new_account_high_amount',
    reason: 'NEW_ACCOUNT_HIGH_AMOUNT',
    group: 'new_high_amount',
    points: 35,
    applies: 'event.is_payment',
    needs: { merchant_amount_count_30d: 30 },
    when: 'features.account_age_days < young_days && features.merchant_amount_ratio_30d >= times',
    limits: { young_days: 1, times: 4 },
    message:
      'An account opened {features.account_age_days} ago (threshold {young_days} day) pays {features.merchant_amount_ratio_30d} times the mean of this merchant over 30 days (threshold {times}).',
    cases: [
      {
        features: {
          account_age_days: 0,
          merchant_amount_ratio_30d: 4,
          merchant_amount_count_30d: 30,
        },
        answer: 'HIT',
      },
      {
        features: {
          account_age_days: 1,
          merchant_amount_ratio_30d: 4,
          merchant_amount_count_30d: 30,
        },
        answer: 'NO_HIT',
      },
      {
        features: {
          customer_known: 0,
          merchant_amount_ratio_30d: 4,
          merchant_amount_count_30d: 30,
        },
        answer: 'INSUFFICIENT_HISTORY',
      },
    ],
  },
  {
    id: 'customer_new_card_high_amount',
    reason: 'NEW_CARD_HIGH_AMOUNT',
    group: 'new_high_amount',
    points: 40,
    applies: 'event.is_payment',
    needs: { customer_amount_count_30d: 5 },
    when: 'features.customer_card_is_new == 1.0 && features.customer_amount_ratio_30d >= times',
    limits: { times: 3 },
    message:
      'A card new for this customer pays {features.customer_amount_ratio_30d} times the mean of the customer over 30 days (threshold {times}).',
    cases: [
      {
        features: {
          customer_card_is_new: 1,
          customer_amount_ratio_30d: 3,
          customer_amount_count_30d: 5,
        },
        answer: 'HIT',
      },
      {
        features: {
          customer_card_is_new: 0,
          customer_amount_ratio_30d: 3,
          customer_amount_count_30d: 5,
        },
        answer: 'NO_HIT',
      },
    ],
  },
  {
    id: 'merchant_amount_unusual',
    reason: 'AMOUNT_UNUSUAL_FOR_MERCHANT',
    points: 15,
    applies: 'event.is_payment',
    needs: { merchant_amount_count_30d: 50 },
    when: 'features.merchant_amount_z_30d >= limit && features.merchant_amount_ratio_30d >= times',
    limits: { limit: 6, times: 5 },
    message:
      'The amount is {features.merchant_amount_ratio_30d} times the mean and {features.merchant_amount_z_30d} deviations above that of this merchant over 30 days (thresholds {times} and {limit}).',
    cases: [
      { features: merchantAmount(6, 5, 50), answer: 'HIT' },
      { features: merchantAmount(5.9, 5, 50), answer: 'NO_HIT' },
      { features: merchantAmount(6, 4.9, 50), answer: 'NO_HIT' },
      { features: merchantAmount(6, 5, 49), answer: 'INSUFFICIENT_HISTORY' },
    ],
  },
];

/**
 * A stolen card that has worked once is used again: after a payment far above what is typical, the next ones that are
 * above it too. The typical amount is a median, which the first strange payments do not move.
 */
function unusualSeries(entity: 'card' | 'customer', words: string, less: number): Rule[] {
  const ratio = `${entity}_amount_typical_ratio_30d`;
  const max = `${entity}_amount_max_7d`;
  const typical = `${entity}_amount_typical_30d`;
  const count = `${entity}_amount_count_30d`;
  return [
    { step: 'weak', times: 1, points: 15 },
    { step: 'clear', times: 1.5, points: 50 },
    { step: 'strong', times: 2.5, points: 65 },
  ].map(({ step, times, points }) => ({
    id: `${entity}_unusual_series_${step}`,
    reason: 'SERIES_OF_UNUSUAL_AMOUNTS',
    group: 'unusual_series',
    points: points - less,
    applies: 'event.is_payment',
    needs: { [count]: 10 },
    when: `features.${max} >= before * features.${typical} && features.${ratio} >= times`,
    limits: { before: 3.5, times },
    message: `Within 7 days a payment of this ${words} was at least {before} times its typical amount over 30 days, and this one is {features.${ratio}} times it (threshold {times}).`,
    cases: [
      { features: { [count]: 10, [max]: 350, [typical]: 100, [ratio]: times }, answer: 'HIT' },
      { features: { [count]: 10, [max]: 349, [typical]: 100, [ratio]: 9 }, answer: 'NO_HIT' },
      {
        features: { [count]: 10, [max]: 350, [typical]: 100, [ratio]: times - 0.1 },
        answer: 'NO_HIT',
      },
      {
        features: { [count]: 9, [max]: 350, [typical]: 100, [ratio]: 9 },
        answer: 'INSUFFICIENT_HISTORY',
      },
    ],
  }));
}

/** Four steps of one observation, the first too weak to need a look alone, for a card or a customer with at least five approved payments. */
function ownHistory(
  entity: 'card' | 'customer',
  words: string,
  points: number,
  extremePoints: number,
): Rule[] {
  const common = {
    reason: `AMOUNT_UNUSUAL_FOR_${entity.toUpperCase()}`,
    group: 'own_amount',
    applies: 'event.is_payment',
    needs: { [`${entity}_amount_count_30d`]: 5 },
  };
  const ratio = `${entity}_amount_ratio_30d`;
  const z = `${entity}_amount_z_30d`;
  const enough = { [`${entity}_amount_count_30d`]: 5 };
  return [
    {
      ...common,
      id: `${entity}_amount_high`,
      points: 15,
      when: `features.${ratio} >= times && features.${z} >= limit`,
      limits: { times: 2, limit: 2.5 },
      message: `The amount is {features.${ratio}} times the mean and {features.${z}} deviations above that of this ${words} over 30 days (thresholds {times} and {limit}).`,
      cases: [
        { features: { ...enough, [ratio]: 2, [z]: 2.5 }, answer: 'HIT' },
        { features: { ...enough, [ratio]: 1.9, [z]: 9 }, answer: 'NO_HIT' },
        { features: { ...enough, [ratio]: 9, [z]: 2.4 }, answer: 'NO_HIT' },
      ],
    },
    {
      ...common,
      id: `${entity}_amount_higher`,
      points: 25,
      when: `features.${ratio} >= times && features.${z} >= limit`,
      limits: { times: 2.5, limit: 3 },
      message: `The amount is {features.${ratio}} times the mean and {features.${z}} deviations above that of this ${words} over 30 days (thresholds {times} and {limit}).`,
      cases: [
        { features: { ...enough, [ratio]: 2.5, [z]: 3 }, answer: 'HIT' },
        { features: { ...enough, [ratio]: 2.4, [z]: 9 }, answer: 'NO_HIT' },
        { features: { ...enough, [ratio]: 9, [z]: 2.9 }, answer: 'NO_HIT' },
      ],
    },
    {
      ...common,
      id: `${entity}_amount_unusual`,
      points,
      when: `features.${ratio} >= times && features.${z} >= limit`,
      limits: { times: 3, limit: 4 },
      message: `The amount is {features.${ratio}} times the mean and {features.${z}} deviations above that of this ${words} over 30 days (thresholds {times} and {limit}).`,
      cases: [
        { features: { ...enough, [ratio]: 3, [z]: 4 }, answer: 'HIT' },
        { features: { ...enough, [ratio]: 2.9, [z]: 9 }, answer: 'NO_HIT' },
        { features: { ...enough, [ratio]: 9, [z]: 3.9 }, answer: 'NO_HIT' },
        {
          features: { [`${entity}_amount_count_30d`]: 4, [ratio]: 9, [z]: 9 },
          answer: 'INSUFFICIENT_HISTORY',
        },
        { features: { [`${entity}_known`]: 0 }, answer: 'INSUFFICIENT_HISTORY' },
      ],
    },
    {
      ...common,
      id: `${entity}_amount_extreme`,
      points: extremePoints,
      when: `features.${ratio} >= times && features.${z} >= limit`,
      limits: { times: 8, limit: 8 },
      message: `The amount is {features.${ratio}} times the mean and {features.${z}} deviations above that of this ${words} over 30 days (thresholds {times} and {limit}).`,
      cases: [
        { features: { ...enough, [ratio]: 8, [z]: 8 }, answer: 'HIT' },
        { features: { ...enough, [ratio]: 8, [z]: 7.9 }, answer: 'NO_HIT' },
      ],
    },
  ];
}

function spending(day: number, payments: number, month: number, count: number) {
  return {
    card_amount_sum_24h: day,
    card_amount_count_24h: payments,
    card_amount_sum_30d: month,
    card_amount_count_30d: count,
  };
}

function newHigh(age: number, ratio: number, z: number) {
  return {
    card_age_seconds: age,
    merchant_amount_ratio_30d: ratio,
    merchant_amount_z_30d: z,
    merchant_amount_count_30d: 30,
  };
}

function cardAndMerchant(ratio: number, merchantRatio: number, count: number) {
  return {
    card_amount_ratio_30d: ratio,
    card_amount_count_30d: 5,
    merchant_amount_ratio_30d: merchantRatio,
    merchant_amount_count_30d: count,
  };
}

function merchantAmount(z: number, ratio: number, count: number) {
  return {
    merchant_amount_z_30d: z,
    merchant_amount_ratio_30d: ratio,
    merchant_amount_count_30d: count,
  };
}
