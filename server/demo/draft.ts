import type { OutcomeLabel } from '../../contract/outcome.ts';
import type { Channel, EventType, TransactionStatus } from '../../contract/transaction.ts';
import type { Merchant } from './merchants.ts';
import type { Card, Device, Network } from './people.ts';

/** The frauds that are planted in the day. */
export const PATTERNS = [
  'card testing',
  'stolen card',
  'refund abuse',
  'account takeover',
] as const;
/** One of {@link PATTERNS}. */
export type Pattern = (typeof PATTERNS)[number];

/**
 * How an event counts when the service's judgement is compared with the truth: `ordinary` should be let through, a
 * planted `fraud` should not, and what only accompanies a fraud (its captures, say) is not counted.
 */
export type Truth =
  | { readonly kind: 'ordinary' }
  | { readonly kind: 'fraud'; readonly pattern: Pattern }
  | { readonly kind: 'accompanying'; readonly pattern: Pattern };

/** An event as it happened, before it gets its ids: those follow the order of the day. */
export interface Draft {
  /** ms since 1970 UTC. */
  readonly at: number;
  readonly eventType: EventType;
  readonly status: TransactionStatus;
  readonly merchant: Merchant;
  /** Minor units of the merchant's currency. */
  readonly amountMinor: number;
  readonly channel: Channel;
  readonly truth: Truth;
  readonly card?: Card;
  readonly customer?: {
    readonly id: string;
    readonly accountAgeDays: number;
    /** Set on PROFILE_UPSERT. */
    readonly profileVersion?: number;
  };
  readonly device?: Device;
  readonly network?: Network;
  readonly shippingCountry?: string;
  readonly installmentMonths?: number;
  readonly responseCode?: string;
  readonly reasonCode?: string;
  readonly original?: Draft;
  /** What it turned out to be, told to the service afterwards. */
  readonly label?: OutcomeLabel;
}

/** The truth of everyday life. */
export const ORDINARY: Truth = { kind: 'ordinary' };

/** The truth of an event that ought to be noticed. */
export const fraud = (pattern: Pattern): Truth => ({ kind: 'fraud', pattern });

/** The truth of an event that only comes along with a fraud. */
export const accompanying = (pattern: Pattern): Truth => ({ kind: 'accompanying', pattern });

/** The payment is taken: the merchant's server asks for it, so neither device nor network are known. */
export function captureOf(payment: Draft, at: number): Draft {
  return followUp(payment, at, { eventType: 'PAYMENT_CAPTURE', status: 'APPROVED' });
}

/** The payment is called off before it is taken. */
export function cancelOf(payment: Draft, at: number, reasonCode: string): Draft {
  return followUp(payment, at, { eventType: 'PAYMENT_CANCEL', status: 'CANCELED', reasonCode });
}

/** Money goes back, all or some of it. */
export function refundOf(payment: Draft, at: number, amountMinor: number): Draft {
  return followUp(payment, at, {
    eventType: 'PAYMENT_REFUND',
    status: 'REVERSED',
    amountMinor,
    reasonCode: 'CUSTOMER_RETURN',
  });
}

/** The cardholder disputes the payment. */
export function chargebackOf(payment: Draft, at: number, reasonCode: string): Draft {
  return followUp(payment, at, { eventType: 'PAYMENT_CHARGEBACK', status: 'APPROVED', reasonCode });
}

function followUp(
  payment: Draft,
  at: number,
  what: Pick<Draft, 'eventType' | 'status'> & Partial<Draft>,
): Draft {
  const { merchant, amountMinor, channel, card, customer, truth } = payment;
  return {
    at,
    merchant,
    amountMinor,
    channel,
    truth: truth.kind === 'ordinary' ? truth : accompanying(truth.pattern),
    original: payment,
    ...(card === undefined ? {} : { card }),
    ...(customer === undefined ? {} : { customer }),
    ...what,
  };
}
