import type { OutcomeLabel } from '../../contract/outcome.ts';
import type { Channel } from '../../contract/transaction.ts';
import { HOUR, MINUTE, SECOND } from './day.ts';
import {
  cancelOf,
  captureOf,
  chargebackOf,
  type Draft,
  ORDINARY,
  refundOf,
  type Truth,
} from './draft.ts';
import { basketAmount, type Merchant } from './merchants.ts';
import type { Card, Device, Network, Person } from './people.ts';
import type { Random } from './random.ts';

/** Somebody pays somewhere. */
export interface Payment {
  readonly at: number;
  readonly merchant: Merchant;
  readonly channel: Channel;
  readonly card: Card;
  readonly amountMinor: number;
  readonly truth?: Truth;
  readonly declinedWith?: string;
  readonly customer?: NonNullable<Draft['customer']>;
  readonly device?: Device;
  readonly network?: Network;
  readonly shippingCountry?: string;
  readonly installmentMonths?: number;
  readonly label?: OutcomeLabel;
}

/** The authorization of a payment. */
export function authOf(payment: Payment): Draft {
  const { declinedWith, ...rest } = payment;
  return {
    installmentMonths: 0,
    ...rest,
    eventType: 'PAYMENT_AUTH',
    status: declinedWith === undefined ? 'APPROVED' : 'DECLINED',
    truth: payment.truth ?? ORDINARY,
    responseCode: declinedWith ?? '00',
  };
}

/** Issuers' answers to ordinary people: mostly not enough money. */
const EVERYDAY_DECLINES = ['51', '51', '51', '05', '61', '54', '91'] as const;

const DECLINED = 0.04;
const TRIES_AGAIN = 0.6;
const DISPUTED = 0.006;

/**
 * One visit of a person to a merchant: an authorization, now and then declined and tried again, then usually the
 * capture, sometimes a cancel or a refund, rarely a dispute.
 */
export function visit(random: Random, person: Person, merchant: Merchant, at: number): Draft[] {
  const channel = random.pick(
    isAtHome(person) ? merchant.channels : merchant.channels.filter((each) => each !== 'POS'),
  );
  const disputed = channel !== 'POS' && random.chance(DISPUTED);
  const payment: Payment = {
    at,
    merchant,
    channel,
    card: random.pick(person.cards),
    amountMinor: basketAmount(random, merchant),
    ...(channel === 'POS' ? atTheTill(random, person, merchant) : remotely(random, person)),
    ...(merchant.ships === true && channel !== 'POS' ? { shippingCountry: person.country } : {}),
    ...(disputed ? { label: 'CHARGEBACK_CONFIRMED' as const } : {}),
  };
  const months = installments(random, merchant, payment.amountMinor);
  const auth = authOf({ ...payment, installmentMonths: months });
  if (!random.chance(DECLINED)) return [auth, ...aftermath(random, auth, disputed)];
  const { label: _, ...undisputed } = payment;
  const declined = authOf({ ...undisputed, declinedWith: random.pick(EVERYDAY_DECLINES) });
  if (!random.chance(TRIES_AGAIN)) return [declined];
  const again = authOf({
    ...payment,
    at: at + Math.round(random.between(15, 120) * SECOND),
    card: random.pick(person.cards),
    installmentMonths: months,
  });
  return [declined, again, ...aftermath(random, again, disputed)];
}

/** Whether somebody can be expected in a shop of ours. */
export function isAtHome(person: Person): boolean {
  return person.networks[0]?.country === 'KR';
}

/** The person's account, as a merchant tells of it. */
export function accountOf(person: Person): NonNullable<Draft['customer']> {
  return { id: person.customerId, accountAgeDays: person.accountAgeDays };
}

/** A till knows its terminal and, of members only, the customer. */
function atTheTill(random: Random, person: Person, merchant: Merchant) {
  return {
    device: { id: random.pick(merchant.terminals), platform: 'terminal' as const },
    network: { ipPrefix: merchant.ipPrefix, country: 'KR' },
    ...(random.chance(0.35) ? { customer: accountOf(person) } : {}),
  };
}

function remotely(random: Random, person: Person) {
  return {
    device: random.pick(person.devices),
    network: random.pick(person.networks),
    customer: accountOf(person),
  };
}

function installments(random: Random, merchant: Merchant, amountMinor: number): number {
  if (merchant.installments !== true || amountMinor < 50_000) return 0;
  return random.weighted([0, 2, 3, 6, 12], (_, index) => [60, 5, 20, 10, 5][index] ?? 0);
}

/** What becomes of an approved payment; instants may lie after the end of the day. */
function aftermath(random: Random, auth: Draft, disputed: boolean): Draft[] {
  const { merchant, at, channel } = auth;
  if (!disputed && random.chance(merchant.cancels)) {
    return [cancelOf(auth, at + Math.round(random.between(2, 90) * MINUTE), 'CUSTOMER_REQUEST')];
  }
  const ships = merchant.ships === true && channel !== 'POS';
  const wait = ships ? random.between(0.5, 7) * HOUR : random.between(5, 300) * SECOND;
  const capture = captureOf(auth, at + Math.round(wait));
  if (disputed) {
    return [capture, chargebackOf(auth, capture.at + hours(random, 2, 9), 'NOT_RECOGNISED')];
  }
  if (!random.chance(merchant.refunds)) return [capture];
  const whole = random.chance(0.75);
  const { step } = merchant.basket;
  const part = Math.max(step, Math.round((auth.amountMinor * 0.4) / step) * step);
  return [
    capture,
    refundOf(auth, capture.at + hours(random, 1, 8), whole ? auth.amountMinor : part),
  ];
}

const hours = (random: Random, from: number, to: number): number =>
  Math.round(random.between(from, to) * HOUR);
