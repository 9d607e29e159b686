import type { TransactionEvent } from '../../contract/transaction.ts';
import type { PastEvent, PastLabel } from '../../ledger/import-events.ts';
import { randomSource } from '../risk/events.ts';

const DAY = 86_400_000;
const LABEL_DELAY = 7 * DAY;

/** A made past: payments in the order of time, and the labels of its frauds in theirs. */
export interface Past {
  readonly events: readonly (PastEvent & { readonly at: number; readonly id: string })[];
  readonly labels: readonly PastLabel[];
}

/** One event of it. */
export function pastEvent(
  id: string,
  at: number,
  made: { readonly card: string; readonly merchant: string; readonly amount: number },
): TransactionEvent {
  const instant = new Date(at).toISOString();
  return {
    schema_version: '1.0',
    source_event_id: id,
    occurred_at: instant,
    sent_at: instant,
    source_system: 'test',
    event_type: 'PAYMENT_AUTH',
    merchant_external_id: made.merchant,
    transaction: {
      source_event_id: id,
      type: 'AUTH',
      status: 'APPROVED',
      occurred_at: instant,
      amount_minor: made.amount,
      currency: 'EUR',
      channel: 'POS',
      installment_months: 0,
    },
    customer: { customer_id: `u-${made.card}` },
    payment_method: { type: 'CARD', token: made.card },
  };
}

/**
 * Payments of 60 cards at 40 merchants over 45 days. Six merchants are dishonest from their second week on: two thirds
 * of the payments there are frauds. Labels come seven days later.
 *
 * @param until  the last instant, ms since 1970 UTC
 */
export function makePast(count: number, until: number, seed: number): Past {
  const random = randomSource(seed);
  const span = 45 * DAY;
  const from = until - span;
  const labels: PastLabel[] = [];
  const events = Array.from({ length: count }, (_, i) => {
    const at = from + Math.floor((i * span) / count);
    const shop = random(40);
    const id = `past-${seed}-${i}`;
    const card = `card-${random(60)}`;
    const amount = 1_000 + random(9_000);
    const event = pastEvent(id, at, { card, merchant: `shop-${shop}`, amount });
    if (shop < 6 && at > from + 10 * DAY && random(3) > 0) {
      labels.push({
        sourceEventId: id,
        outcomeLabel: 'FRAUD_CONFIRMED',
        labelledAt: at + LABEL_DELAY,
      });
    }
    return { id, at, event };
  });
  return { events, labels };
}
