import type { Rule } from '../rule.ts';

/** Countries that do not fit together; weak signs alone, so that a traveller is not held up. */
export const GEOGRAPHY_RULES: readonly Rule[] = [
  {
    id: 'cross_border',
    reason: 'CROSS_BORDER',
    group: 'geography',
    points: 10,
    applies: 'event.is_payment',
    when: 'event.is_cross_border',
    message: 'The payment crosses a border.',
    cases: [
      { event: { is_cross_border: true }, answer: 'HIT' },
      { answer: 'NO_HIT' },
      { event: { is_payment: false, is_cross_border: true }, answer: 'NOT_APPLICABLE' },
    ],
  },
  {
    id: 'cross_border_new_card',
    reason: 'CROSS_BORDER',
    group: 'geography',
    points: 20,
    applies: 'event.is_payment && event.is_cross_border',
    when: 'features.card_age_seconds < young_seconds',
    limits: { young_seconds: 86_400 },
    message:
      'The payment crosses a border with a card first seen {features.card_age_seconds} ago (threshold {young_seconds}).',
    cases: [
      { event: { is_cross_border: true }, features: { card_age_seconds: 0 }, answer: 'HIT' },
      {
        event: { is_cross_border: true },
        features: { card_age_seconds: 86_400 },
        answer: 'NO_HIT',
      },
      { features: { card_age_seconds: 0 }, answer: 'NOT_APPLICABLE' },
    ],
  },
  {
    id: 'issuer_network_countries',
    reason: 'COUNTRY_MISMATCH',
    group: 'geography',
    points: 25,
    applies: 'event.is_payment',
    when: 'event.issuer_differs_from_network',
    message: "The card's country and the network's country differ.",
    cases: [
      { event: { issuer_differs_from_network: true }, answer: 'HIT' },
      { event: { issuer_differs_from_network: false }, answer: 'NO_HIT' },
      { answer: 'NOT_APPLICABLE' },
    ],
  },
  {
    id: 'network_shipping_countries',
    reason: 'COUNTRY_MISMATCH',
    group: 'geography',
    points: 20,
    applies: 'event.is_payment',
    when: 'event.network_differs_from_shipping',
    message: "The network's country and the country shipped to differ.",
    cases: [
      { event: { network_differs_from_shipping: true }, answer: 'HIT' },
      { event: { network_differs_from_shipping: false }, answer: 'NO_HIT' },
      { answer: 'NOT_APPLICABLE' },
    ],
  },
  {
    id: 'three_countries',
    reason: 'COUNTRY_MISMATCH',
    group: 'geography',
    points: 40,
    applies: 'event.is_payment',
    when: 'event.issuer_differs_from_network && event.network_differs_from_shipping && event.issuer_differs_from_shipping',
    message: 'Card, network and the country shipped to are in three different countries.',
    cases: [
      {
        event: {
          issuer_differs_from_network: true,
          network_differs_from_shipping: true,
          issuer_differs_from_shipping: true,
        },
        answer: 'HIT',
      },
      {
        event: {
          issuer_differs_from_network: true,
          network_differs_from_shipping: true,
          issuer_differs_from_shipping: false,
        },
        answer: 'NO_HIT',
      },
      { event: { issuer_differs_from_network: true }, answer: 'NOT_APPLICABLE' },
    ],
  },
];
