import type { TransactionEvent } from '../contract/transaction.ts';
import { ownValue } from './entities.ts';

/**
 * What a rule may read of an event as `event`. Derived values only: neither ids nor free text of the payload, so
 * that no expression and no reason can give one away. Optional facts are absent where the event does not tell.
 */
export interface EventFacts {
  readonly event_type: TransactionEvent['event_type'];
  readonly type: TransactionEvent['transaction']['type'];
  readonly status: TransactionEvent['transaction']['status'];
  readonly channel: TransactionEvent['transaction']['channel'];
  /** Three capital letters. */
  readonly currency: string;
  /** In the currency's minor unit. */
  readonly amount_minor: number;
  /** PAYMENT_AUTH: what velocity counts as an attempt. */
  readonly is_payment: boolean;
  /** PAYMENT_CANCEL or PAYMENT_REFUND. */
  readonly is_return: boolean;
  readonly is_cross_border: boolean;
  readonly installment_months?: number;
  /** customer.account_age_days, where it is a number >= 0. */
  readonly account_age_days?: number;
  /** Hour of the day in UTC, 0..23. */
  readonly hour_utc: number;
  /** Whether two countries of the event differ; absent unless both are given as two letters. */
  readonly issuer_differs_from_network?: boolean;
  readonly issuer_differs_from_shipping?: boolean;
  readonly network_differs_from_shipping?: boolean;
}

/** @param at  the event's instant, ms since 1970 UTC */
export function factsOf(event: TransactionEvent, at: number): EventFacts {
  const { transaction } = event;
  const facts: { -readonly [Name in keyof EventFacts]: EventFacts[Name] } = {
    event_type: event.event_type,
    type: transaction.type,
    status: transaction.status,
    channel: transaction.channel,
    currency: transaction.currency,
    amount_minor: transaction.amount_minor,
    is_payment: event.event_type === 'PAYMENT_AUTH',
    is_return: event.event_type === 'PAYMENT_CANCEL' || event.event_type === 'PAYMENT_REFUND',
    is_cross_border: transaction.is_cross_border === true,
    hour_utc: Math.floor(at / 3_600_000) - Math.floor(at / 86_400_000) * 24,
  };
  if (transaction.installment_months !== undefined)
    facts.installment_months = transaction.installment_months;
  const age = ownValue(event.customer, 'account_age_days');
  if (typeof age === 'number' && age >= 0) facts.account_age_days = age;

  const issuer = country(ownValue(event.payment_method, 'issuer_country'));
  const network = country(ownValue(event.network, 'country'));
  const shipping = country(ownValue(event.order, 'shipping_country'));
  if (issuer && network) facts.issuer_differs_from_network = issuer !== network;
  if (issuer && shipping) facts.issuer_differs_from_shipping = issuer !== shipping;
  if (network && shipping) facts.network_differs_from_shipping = network !== shipping;
  return facts;
}

/** An ISO 3166-1 alpha-2 code by shape only, in capitals; undefined for anything else. */
function country(value: unknown): string | undefined {
  return typeof value === 'string' && /^[A-Za-z]{2}$/.test(value) ? value.toUpperCase() : undefined;
}
