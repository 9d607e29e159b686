import type { TransactionEvent } from '../../contract/transaction.ts';
import { readEvent, type RiskEvent } from '../../risk/event.ts';

/** 2026-03-01T00:00:00Z, a Sunday, at the edge of every bucket. */
export const START = 1_772_323_200_000;

/** What a made event says; everything else is an ordinary approved payment without customer, device or network. */
export interface Made {
  at?: number;
  receivedAt?: number;
  eventType?: TransactionEvent['event_type'];
  status?: TransactionEvent['transaction']['status'];
  amount?: number;
  currency?: string;
  channel?: TransactionEvent['transaction']['channel'];
  crossBorder?: boolean;
  card?: string;
  customer?: string;
  device?: string;
  ipPrefix?: string;
  merchant?: string;
  originalKnown?: boolean | null;
  profileVersion?: number;
  accountAgeDays?: number;
}

/** A body that the contract accepts. */
export function makeBody(made: Made = {}): TransactionEvent {
  const customer = {
    ...(made.customer === undefined ? {} : { customer_id: made.customer }),
    ...(made.accountAgeDays === undefined ? {} : { account_age_days: made.accountAgeDays }),
  };
  return {
    schema_version: '1.0',
    source_event_id: 'made',
    occurred_at: '2026-03-01T00:00:00Z',
    sent_at: '2026-03-01T00:00:00Z',
    source_system: 'test',
    ...(made.merchant === undefined ? {} : { merchant_external_id: made.merchant }),
    event_type: made.eventType ?? 'PAYMENT_AUTH',
    ...(made.profileVersion === undefined ? {} : { profile_version: made.profileVersion }),
    transaction: {
      source_event_id: 'made',
      type: 'AUTH',
      status: made.status ?? 'APPROVED',
      occurred_at: '2026-03-01T00:00:00Z',
      amount_minor: made.amount ?? 10_000,
      currency: made.currency ?? 'KRW',
      channel: made.channel ?? 'ECOMMERCE',
      installment_months: 0,
      is_cross_border: made.crossBorder ?? false,
    },
    ...(made.card === undefined ? {} : { payment_method: { type: 'CARD', token: made.card } }),
    customer,
    ...(made.device === undefined ? {} : { device: { device_id: made.device } }),
    ...(made.ipPrefix === undefined ? {} : { network: { ip_prefix: made.ipPrefix } }),
  };
}

/** A read event. */
export function make(made: Made = {}): RiskEvent {
  const at = made.at ?? START;
  return readEvent({
    ingestionId: 'ing_1',
    event: makeBody(made),
    merchantSubject: made.merchant ?? 'merchant',
    occurredAt: at,
    receivedAt: made.receivedAt ?? at + 1000,
    originalKnown: made.originalKnown ?? null,
  });
}

/** Seeded random integers 0..below - 1, so that a failing stream can be run again. */
export function randomSource(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}
