import type {
  CanonicalTransaction,
  EventType,
  TransactionEvent,
  TransactionType,
} from '../../contract/transaction.ts';
import { localTime } from './day.ts';
import type { Draft } from './draft.ts';

const TYPES: Record<EventType, TransactionType> = {
  PROFILE_UPSERT: 'AUTH',
  PAYMENT_AUTH: 'AUTH',
  PAYMENT_CAPTURE: 'PAYMENT',
  PAYMENT_CANCEL: 'CANCEL',
  PAYMENT_REFUND: 'REFUND',
  PAYMENT_CHARGEBACK: 'CHARGEBACK',
};

const PREFIXES: Record<EventType, string> = {
  PROFILE_UPSERT: 'prf',
  PAYMENT_AUTH: 'pay',
  PAYMENT_CAPTURE: 'cap',
  PAYMENT_CANCEL: 'can',
  PAYMENT_REFUND: 'ref',
  PAYMENT_CHARGEBACK: 'cbk',
};

/** The ids of an event. */
export interface EventIds {
  readonly sourceEventId: string;
  /** Tills number their payments themselves: there the terminal's id is the one that lasts. */
  readonly tid?: string;
  /** One order, from its authorization to its refund. */
  readonly orderId: string;
  /** The lasting id of the event that this one is about. */
  readonly originalId?: string;
}

/** Ids of the `number`-th event of a run. */
export function idsOf(draft: Draft, run: string, number: number, original?: EventIds): EventIds {
  const place = `${run}-${String(number).padStart(6, '0')}`;
  return {
    sourceEventId: `${PREFIXES[draft.eventType]}-${place}`,
    ...(draft.channel === 'POS' && draft.eventType === 'PAYMENT_AUTH'
      ? { tid: `TID-${place}` }
      : {}),
    orderId: original?.orderId ?? `ord-${place}`,
    ...(original === undefined ? {} : { originalId: durableId(original) }),
  };
}

/** The id by which the service knows the event afterwards. */
export const durableId = (ids: EventIds): string => ids.tid ?? ids.sourceEventId;

/** Writes an event as a merchant's server would. @param delayMs from the event to its sending */
export function eventOf(draft: Draft, ids: EventIds, delayMs: number): TransactionEvent {
  const { card, customer, device, network, merchant } = draft;
  const occurredAt = localTime(draft.at);
  return {
    schema_version: '1.0',
    source_event_id: ids.sourceEventId,
    occurred_at: occurredAt,
    sent_at: localTime(draft.at + delayMs),
    source_system: draft.channel === 'POS' ? 'till-gateway' : 'shop-backend',
    event_type: draft.eventType,
    merchant_external_id: merchant.externalId,
    correlation_id: ids.orderId,
    ...(customer?.profileVersion === undefined ? {} : { profile_version: customer.profileVersion }),
    transaction: transactionOf(draft, ids, occurredAt),
    ...(card === undefined
      ? {}
      : {
          payment_method: {
            type: 'CARD',
            token: card.token,
            bin: card.bin,
            last4: card.last4,
            issuer_country: card.issuerCountry,
          },
        }),
    ...(draft.eventType === 'PROFILE_UPSERT'
      ? {}
      : {
          order: {
            order_id: ids.orderId,
            ...(draft.shippingCountry === undefined
              ? {}
              : { shipping_country: draft.shippingCountry }),
          },
        }),
    ...(customer === undefined
      ? {}
      : { customer: { customer_id: customer.id, account_age_days: customer.accountAgeDays } }),
    ...(device === undefined
      ? {}
      : { device: { device_id: device.id, platform: device.platform } }),
    ...(network === undefined
      ? {}
      : { network: { ip_prefix: network.ipPrefix, country: network.country } }),
  };
}

function transactionOf(draft: Draft, ids: EventIds, occurredAt: string): CanonicalTransaction {
  const { merchant, card, installmentMonths, responseCode, reasonCode } = draft;
  return {
    source_event_id: ids.sourceEventId,
    ...(ids.originalId === undefined ? {} : { original_event_id: ids.originalId }),
    type: TYPES[draft.eventType],
    status: draft.status,
    occurred_at: occurredAt,
    amount_minor: draft.amountMinor,
    currency: merchant.currency,
    channel: draft.channel,
    ...(installmentMonths === undefined ? {} : { installment_months: installmentMonths }),
    ...(ids.tid === undefined ? {} : { tid: ids.tid }),
    ...(responseCode === undefined ? {} : { response_code: responseCode }),
    ...(reasonCode === undefined ? {} : { reason_code: reasonCode }),
    ...(card === undefined
      ? {}
      : {
          is_cross_border: card.issuerCountry !== (merchant.crossBorder === true ? 'US' : 'KR'),
        }),
    business_type: merchant.businessType,
  };
}
