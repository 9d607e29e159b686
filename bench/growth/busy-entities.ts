import { setImmediate as turn } from 'node:timers/promises';
import { TransactionEvent } from '../../contract/transaction.ts';
import { saveStates } from '../../ledger/entity-states.ts';
import { createPipelinedTransactions } from '../../ledger/transactions.ts';
import {
  absorb,
  encodeState,
  entitiesOf,
  readEvent,
  type EntityRef,
  type EntityState,
  type RiskEvent,
} from '../../risk/index.ts';
import { EventSource } from '../events.ts';

/** The card and the merchant that all the events are of. */
export const BUSIEST = { card: 'tok_busiest-of-all', merchant: 'merchant-busiest' } as const;

/** Whose history, and how long. */
export interface BusyHistory {
  readonly appUrl: string;
  readonly siteId: bigint;
  readonly events: number;
  /** Instant of the newest event, ms since 1970 UTC. */
  readonly until: number;
}

/** What was stored of one entity. */
export interface StoredHistory {
  readonly kind: string;
  readonly characters: number;
}

/** Time that the events are spread over: all that any bucket keeps, and more. */
const SPAN_MS = 45 * 86_400_000;

/** Customers, devices and networks that share the card: more of each than a history keeps. */
const OTHERS = 150;

const CURRENCIES = ['KRW', 'USD', 'JPY'] as const;

/**
 * Stores the histories of a card, a merchant and the card at the merchant that had all of these events, each absorbed
 * by the service's own code, one after the other: every bucket, currency and list of counterparts is as full as it gets.
 */
export async function storeBusyHistory(history: BusyHistory): Promise<StoredHistory[]> {
  const template = TransactionEvent.parse(
    JSON.parse(
      new EventSource({ seed: 1, sites: 1 }).event(0, history.until).body.toString('utf8'),
    ),
  );
  const states = new Map<EntityRef['kind'], EntityState>();
  const busiest = entitiesOf(eventOf(template, 0), BUSIEST.merchant).filter(({ kind }) =>
    BUSY_KINDS.includes(kind),
  );
  for (let number = 0; number < history.events; number += 1) {
    const at = Math.floor(history.until - SPAN_MS * (1 - (number + 1) / history.events));
    const event: RiskEvent = readEvent({
      ingestionId: String(number),
      event: eventOf(template, number),
      merchantSubject: BUSIEST.merchant,
      occurredAt: at,
      receivedAt: at,
      originalKnown: null,
    });
    for (const { kind } of busiest) states.set(kind, absorb(states.get(kind), event, kind));
    // So that an interrupt is heard.
    if (number % 20_000 === 0) await turn();
  }
  const changes = busiest.map(({ kind, key }) => ({
    siteId: history.siteId,
    kind,
    key,
    state: encodeState(states.get(kind) as EntityState),
    version: 1,
  }));
  const pipelined = createPipelinedTransactions({
    url: history.appUrl,
    poolSize: 1,
    applicationName: 'bench',
    statementTimeoutMs: 10_000,
  });
  try {
    await pipelined.transaction((db) => saveStates(db, changes));
  } finally {
    await pipelined.close();
  }
  return changes.map(({ kind, state }) => ({ kind, characters: state.length }));
}

const BUSY_KINDS: readonly EntityRef['kind'][] = ['card', 'merchant', 'card_merchant'];

/** Approved nine times of ten, in three currencies, by ever other people. */
function eventOf(template: TransactionEvent, number: number): TransactionEvent {
  const other = (number * 7) % OTHERS;
  return {
    ...template,
    event_type: 'PAYMENT_AUTH',
    merchant_external_id: BUSIEST.merchant,
    transaction: {
      ...template.transaction,
      type: 'AUTH',
      status: number % 10 === 3 ? 'DECLINED' : 'APPROVED',
      currency: CURRENCIES[number % CURRENCIES.length] ?? 'KRW',
      amount_minor: 1_000 + ((number * 7_919) % 500_000),
    },
    payment_method: { type: 'CARD', token: BUSIEST.card },
    customer: { customer_id: `cus_${other}` },
    device: { device_id: `dev_${other}` },
    network: { ip_prefix: `203.0.${other}.0/24`, country: 'KR' },
  };
}
