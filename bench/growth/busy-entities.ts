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
import { withClient } from '../cluster.ts';
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
  const template = templateOf(history.until);
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

function templateOf(at: number): TransactionEvent {
  const { body } = new EventSource({ seed: 1, sites: 1 }).event(0, at);
  return TransactionEvent.parse(JSON.parse(body.toString('utf8')));
}

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

/**
 * Stores so many entities with a history of one event each beside them, spread over all Sites, and brings the planner's
 * statistics up to date: what the table of a service looks like that has run for a while.
 */
export async function storeOtherEntities(ownerUrl: string, count: number): Promise<void> {
  const at = Date.now() - 3_600_000;
  const event = readEvent({
    ingestionId: '1',
    event: eventOf(templateOf(at), 0),
    merchantSubject: BUSIEST.merchant,
    occurredAt: at,
    receivedAt: at,
    originalKnown: null,
  });
  await withClient(ownerUrl, async (owner) => {
    await owner.query(
      `insert into entity_state (site_id, entity_kind, entity_key, state, version)
       select site.id, 'card', md5('other ' || n)::uuid, $2, 1
       from generate_series(1, $1::int) as n
       join (select id, row_number() over (order by id) - 1 as place, count(*) over () as sites from site) as site
         on site.place = n % site.sites`,
      [count, encodeState(absorb(undefined, event, 'card'))],
    );
    await owner.query('vacuum (analyze) entity_state');
    await owner.query('checkpoint');
  });
}
