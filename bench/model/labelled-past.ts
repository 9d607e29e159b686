import type { TransactionEvent } from '../../contract/transaction.ts';
import type { PastLabel } from '../../ledger/import-events.ts';
import { lettersOf, randomStream } from '../random.ts';
import { payerOf, prefixOf, type Payer } from './payers.ts';

/** A past to make. Times in ms since 1970 UTC. */
export interface PastOptions {
  readonly seed: number;
  readonly payments: number;
  readonly from: number;
  readonly to: number;
}

/** An event of the past, and the labels it gets later. */
export interface PastLine {
  readonly at: number;
  readonly event: TransactionEvent;
  readonly labels: readonly PastLabel[];
}

const DAY_MS = 86_400_000;

/** Payments of one card, and of one merchant, in the mean. */
const PAYMENTS_PER_CARD = 12;
const PAYMENTS_PER_MERCHANT = 600;

/** Share of the payments that are made with a card that is stolen at the time. */
const BY_STOLEN_CARDS = 0.006;

/** Days after a payment on which its label comes, at most; the Site's label delay is 7. */
const LABEL_DAYS = 6.5;

/**
 * Payments of cards with habits, in the order of time, with about one event of a payment's later life for every nine
 * payments. Between 0.5 and 1 % of the payments are frauds: by chance, which is the higher the more of what is known of
 * fraud comes together (see {@link chanceOf}), so that nothing tells for certain and much tells a little. Every fraud has
 * its label within the delay. Deterministic.
 */
export function* labelledPast(options: PastOptions): Generator<PastLine> {
  const { seed, payments, from, to } = options;
  const random = randomStream(seed);
  const cards = Math.max(200, Math.round(payments / PAYMENTS_PER_CARD));
  const merchants = Math.max(20, Math.round(payments / PAYMENTS_PER_MERCHANT));
  const stolen = new TakenOver(randomStream(seed + 1), cards, cards * 0.012, from, to);
  const bad = new TakenOver(randomStream(seed + 2), merchants, merchants * 0.1, from, to);
  const last = new Map<number, TransactionEvent>();
  const step = (to - from) / payments;
  for (let number = 0; number < payments; number += 1) {
    const at = Math.floor(from + (number + random() * 0.9) * step);
    const card =
      (random() < BY_STOLEN_CARDS ? stolen.anyAt(at, random()) : undefined) ??
      Math.floor(random() ** 1.6 * cards);
    const payer = payerOf(seed, card, merchants);
    const merchant =
      random() < 0.8
        ? (payer.merchants[Math.floor(random() * payer.merchants.length)] as number)
        : Math.floor(random() ** 2 * merchants);
    const isStolen = stolen.has(card, at);
    const circumstances: Circumstances = {
      isStolen,
      isBadMerchant: bad.has(merchant, at),
      isAbroad: random() < (isStolen ? 0.5 : 0.03),
      isOtherDevice: random() < (isStolen ? 0.7 : 0.08),
      isSentElsewhere: random() < (isStolen ? 0.3 : 0.04),
      factor: Math.exp((random() + random() + random() - 1.5) * 1.6 + (isStolen ? 0.5 : 0)),
    };
    const isFraud = random() < chanceOf(circumstances, payer, at);
    const place = {
      id: `past-${lettersOf(seed, 4)}-${lettersOf(number, 8)}`,
      number,
      at,
      merchant,
    };
    const event = paymentOf(random, payer, place, circumstances);
    yield { at, event, labels: labelsOf(random, event, at, isFraud) };
    const earlier = last.get(card);
    if (earlier !== undefined && random() < 0.11) {
      yield { at, event: laterOf(random, earlier, number, at), labels: [] };
    }
    last.set(card, event);
  }
}

/** What a payment comes with, beside the habits of its payer. */
interface Circumstances {
  readonly isStolen: boolean;
  readonly isBadMerchant: boolean;
  readonly isAbroad: boolean;
  readonly isOtherDevice: boolean;
  readonly isSentElsewhere: boolean;
  /** The amount to what the payer usually pays. */
  readonly factor: number;
}

/** The chance that a payment is a fraud, 0 to 1. */
function chanceOf(of: Circumstances, { accountAgeDays }: Payer, at: number): number {
  const hour = Math.floor(at / 3_600_000) % 24;
  const logit =
    -6.4 +
    (of.isStolen ? 2.6 : 0) +
    (of.isBadMerchant ? 2.2 : 0) +
    (of.isAbroad ? 1.5 : 0) +
    (of.isOtherDevice ? 1.2 : 0) +
    (of.isSentElsewhere ? 0.8 : 0) +
    Math.log(of.factor) * 1.1 +
    (hour < 5 ? 0.7 : 0) +
    (accountAgeDays < 60 ? 0.9 : 0);
  return 1 / (1 + Math.exp(-logit));
}

/** Days that a card or a merchant is in other hands. */
const TAKEN_DAYS = 7;

/** Which of so many things are taken over, each for {@link TAKEN_DAYS} days. */
class TakenOver {
  /** By thing the instant it begins; in the order of these instants. */
  readonly #begins: ReadonlyMap<number, number>;
  readonly #inOrder: readonly (readonly [thing: number, begin: number])[];

  constructor(random: () => number, things: number, expected: number, from: number, to: number) {
    this.#inOrder = Array.from(
      { length: Math.max(1, Math.round(expected)) },
      () => [Math.floor(random() * things), from + random() * (to - from)] as const,
    ).toSorted(([, a], [, b]) => a - b);
    this.#begins = new Map(this.#inOrder);
  }

  has(thing: number, at: number): boolean {
    const begin = this.#begins.get(thing);
    return begin !== undefined && at >= begin && at < begin + TAKEN_DAYS * DAY_MS;
  }

  /** One of those taken over at an instant, by a number in [0, 1); undefined where there is none. */
  anyAt(at: number, share: number): number | undefined {
    const now = this.#inOrder.filter(([thing]) => this.has(thing, at));
    return now[Math.floor(share * now.length)]?.[0];
  }
}

/** An event of a payment and where it is in the past. */
interface Place {
  readonly id: string;
  readonly number: number;
  readonly at: number;
  readonly merchant: number;
}

function paymentOf(
  random: () => number,
  payer: Payer,
  { id, number, at, merchant }: Place,
  { isAbroad, isOtherDevice, isSentElsewhere, factor }: Circumstances,
): TransactionEvent {
  const time = new Date(at).toISOString();
  const network = isAbroad ? 'VN' : payer.country;
  const stranger = 50_000_000 + Math.floor(number / 4);
  return {
    schema_version: '1.0',
    source_event_id: id,
    occurred_at: time,
    sent_at: time,
    source_system: 'shop-backend',
    event_type: 'PAYMENT_AUTH',
    merchant_external_id: merchantName(merchant),
    transaction: {
      source_event_id: id,
      type: 'AUTH',
      status: random() < 0.06 ? 'DECLINED' : random() < 0.98 ? 'APPROVED' : 'PENDING',
      occurred_at: time,
      amount_minor: Math.max(1, Math.round(payer.amount * factor)),
      currency: payer.currency,
      channel: random() < 0.3 ? 'POS' : random() < 0.5 ? 'APP' : 'ECOMMERCE',
      installment_months: random() < 0.85 ? 0 : 3,
      is_cross_border: network !== 'KR',
    },
    payment_method: { type: 'CARD', token: payer.card, issuer_country: payer.country },
    order: { shipping_country: isSentElsewhere ? 'VN' : payer.country },
    customer: {
      customer_id: payer.customer,
      ...(random() < 0.8 ? { account_age_days: payer.accountAgeDays } : {}),
    },
    device: { device_id: isOtherDevice ? `dev_${lettersOf(stranger, 12)}` : payer.device },
    network: {
      ip_prefix: isAbroad || isOtherDevice ? prefixOf(stranger) : payer.ipPrefix,
      country: network,
    },
  };
}

/** The name of a merchant: those that the load pays at, then others. */
const merchantName = (number: number): string => `merchant-${lettersOf(number, 4)}`;

function labelsOf(
  random: () => number,
  event: TransactionEvent,
  at: number,
  isFraud: boolean,
): PastLabel[] {
  const label = (outcomeLabel: PastLabel['outcomeLabel'], days: number): PastLabel => ({
    sourceEventId: event.source_event_id,
    outcomeLabel,
    labelledAt: Math.floor(at + days * DAY_MS),
  });
  const draw = random();
  const days = 0.5 + random() * (LABEL_DAYS - 0.5);
  if (!isFraud) return draw < 0.003 ? [label('FALSE_POSITIVE', days)] : [];
  return [label(draw < 0.75 ? 'FRAUD_CONFIRMED' : 'CHARGEBACK_CONFIRMED', days)];
}

const LATER = [
  { event: 'PAYMENT_REFUND', type: 'REFUND', status: 'REVERSED', upTo: 0.45 },
  { event: 'PAYMENT_CANCEL', type: 'CANCEL', status: 'CANCELED', upTo: 0.75 },
  { event: 'PAYMENT_CHARGEBACK', type: 'CHARGEBACK', status: 'APPROVED', upTo: 0.85 },
  { event: 'PROFILE_UPSERT', type: 'AUTH', status: 'REQUESTED', upTo: 1 },
] as const;

/** What becomes of a payment later, or a change of its customer's profile. */
function laterOf(
  random: () => number,
  payment: TransactionEvent,
  number: number,
  at: number,
): TransactionEvent {
  const draw = random();
  const kind = LATER.find(({ upTo }) => draw < upTo) ?? LATER[0];
  const id = `${payment.source_event_id}-${lettersOf(number, 8)}`;
  const time = new Date(at).toISOString();
  const isProfile = kind.event === 'PROFILE_UPSERT';
  return {
    ...payment,
    source_event_id: id,
    occurred_at: time,
    sent_at: time,
    event_type: kind.event,
    ...(isProfile ? { profile_version: number % 20 } : {}),
    transaction: {
      ...payment.transaction,
      source_event_id: id,
      ...(isProfile ? {} : { original_event_id: payment.source_event_id }),
      type: kind.type,
      status: kind.status,
      occurred_at: time,
    },
  };
}
