import type { TransactionEvent } from '../contract/transaction.ts';
import { ownValue } from './entities.ts';

/** Longer ages are taken as this: 100 years. */
const LONGEST_AGE_DAYS = 36_525;

/**
 * What a rule may read of an event as `event`. Derived values only: neither ids nor free text of the payload, so
 * that no expression and no reason can give one away. Optional facts are undefined where the event does not tell.
 *
 * A class, because the expression language checks fields against one without copying the values.
 */
export class EventFacts {
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
  /** Hour of the day in UTC, 0..23. */
  readonly hour_utc: number;
  readonly installment_months: number | undefined;
  /** customer.account_age_days, where it is a number >= 0; at most 100 years. */
  readonly account_age_days: number | undefined;
  /** Whether two countries of the event differ; undefined unless both are given as two letters. */
  readonly issuer_differs_from_network: boolean | undefined;
  readonly issuer_differs_from_shipping: boolean | undefined;
  readonly network_differs_from_shipping: boolean | undefined;

  /** @param at  the event's instant, ms since 1970 UTC */
  constructor(event: TransactionEvent, at: number) {
    const { transaction } = event;
    this.event_type = event.event_type;
    this.type = transaction.type;
    this.status = transaction.status;
    this.channel = transaction.channel;
    this.currency = transaction.currency;
    this.amount_minor = transaction.amount_minor;
    this.is_payment = event.event_type === 'PAYMENT_AUTH';
    this.is_return = event.event_type === 'PAYMENT_CANCEL' || event.event_type === 'PAYMENT_REFUND';
    this.is_cross_border = transaction.is_cross_border === true;
    this.hour_utc = Math.floor(at / 3_600_000) - Math.floor(at / 86_400_000) * 24;
    this.installment_months = transaction.installment_months;
    this.account_age_days = age(ownValue(event.customer, 'account_age_days'));

    const issuer = country(ownValue(event.payment_method, 'issuer_country'));
    const network = country(ownValue(event.network, 'country'));
    const shipping = country(ownValue(event.order, 'shipping_country'));
    this.issuer_differs_from_network = differ(issuer, network);
    this.issuer_differs_from_shipping = differ(issuer, shipping);
    this.network_differs_from_shipping = differ(network, shipping);
  }
}

/** Type of each fact in the expression language; `double` for every number. */
export const FACT_TYPES: Readonly<Record<keyof EventFacts, 'string' | 'bool' | 'double'>> = {
  event_type: 'string',
  type: 'string',
  status: 'string',
  channel: 'string',
  currency: 'string',
  amount_minor: 'double',
  is_payment: 'bool',
  is_return: 'bool',
  is_cross_border: 'bool',
  hour_utc: 'double',
  installment_months: 'double',
  account_age_days: 'double',
  issuer_differs_from_network: 'bool',
  issuer_differs_from_shipping: 'bool',
  network_differs_from_shipping: 'bool',
};

function age(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? Math.min(value, LONGEST_AGE_DAYS) : undefined;
}

/** An ISO 3166-1 alpha-2 code by shape only, in capitals; undefined for anything else. */
function country(value: unknown): string | undefined {
  return typeof value === 'string' && /^[A-Za-z]{2}$/.test(value) ? value.toUpperCase() : undefined;
}

function differ(one: string | undefined, other: string | undefined): boolean | undefined {
  return one === undefined || other === undefined ? undefined : one !== other;
}
