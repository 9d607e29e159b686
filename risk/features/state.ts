import type { EntityKind, SingleKind } from '../entities.ts';
import type { Buckets } from './buckets.ts';

/** Cells per bucket: its number, attempts, approvals, declines; from the hours up also refunds, cancels, chargebacks. */
export const COUNT_STRIDES = [4, 4, 7, 7] as const;
/** Cells per bucket of 5 minutes and of an hour: its number, approved payments, their sum. */
export const AMOUNT_STRIDE = 3;
/** Cells per bucket of a day: its number, approved payments, their sum, largest, and the sum of squares (two cells). */
export const DAY_AMOUNT_STRIDE = 6;

/** An entity's amounts are kept in this many currencies at a time, first come; in others it has no amount history. */
export const MAX_CURRENCIES = 3;
/** This many counterparts, those seen last, are kept of each kind: a count that reaches it means "or more". */
export const MAX_COUNTERPARTS = 100;
/** This many of the newest attempts are kept: a run of declines that reaches it means "or more". */
export const MAX_RECENT = 16;

/** Counterparts that are counted for an entity of each kind, such as the cards seen on a device. */
export const COUNTERPARTS = {
  card: ['customer', 'device', 'ip_prefix', 'merchant'],
  customer: ['card', 'device', 'ip_prefix'],
  device: ['card', 'customer'],
  ip_prefix: ['card', 'customer'],
  merchant: [],
  card_merchant: [],
  customer_device: [],
} as const satisfies Record<EntityKind, readonly SingleKind[]>;

/** Approved amounts in one currency, in minor units, by level of bucket. */
export interface CurrencyAmounts {
  readonly currency: string;
  readonly fiveMinutes: Buckets;
  readonly hours: Buckets;
  readonly days: Buckets;
}

/**
 * The bounded history of one entity. Holds counts and hashes, nothing of a payload.
 *
 * A pure function of the set of events absorbed, whatever their order, with two exceptions that matter only for
 * streams far out of order or with many currencies: which currencies came first, and events that were dropped because
 * they came later than their bucket is kept. Two states of the same events are equal to the last bit either way when
 * the order was the same.
 */
export interface EntityState {
  /** Instant of the earliest event, ms since 1970 UTC. */
  firstSeen: number;
  /** Instant of the newest counted event, ms since 1970 UTC; -Infinity where only profiles were seen. */
  newest: number;
  /** Attempts ever. */
  attempts: number;
  /** Counts by level. */
  readonly counts: readonly [Buckets, Buckets, Buckets, Buckets];
  /** By currency, ascending. */
  readonly amounts: CurrencyAmounts[];
  /** For each of {@link COUNTERPARTS}: [last sight in units of 10 s, 30-bit hash, ...], ascending. */
  readonly counterparts: readonly number[][];
  /** The newest attempts as instant x 4 + 0 declined, 1 undecided, 2 approved; ascending. */
  readonly recent: number[];
  /** Version of the newest profile (-1 where unnumbered) and its instant; -Infinity where none was seen. */
  profileVersion: number;
  profileAt: number;
  /** When the account was opened according to the profile, ms since 1970 UTC. */
  accountOpenedAt: number | undefined;
}

/** The state of an entity before its first event. */
export function emptyState(kind: EntityKind): EntityState {
  return {
    firstSeen: Infinity,
    newest: -Infinity,
    attempts: 0,
    counts: [[], [], [], []],
    amounts: [],
    counterparts: COUNTERPARTS[kind].map(() => []),
    recent: [],
    profileVersion: -Infinity,
    profileAt: -Infinity,
    accountOpenedAt: undefined,
  };
}
