import { hash } from 'node:crypto';
import type { TransactionEvent } from '../contract/transaction.ts';

/** Things that an event names by themselves. */
export const SINGLE_KINDS = ['card', 'customer', 'device', 'ip_prefix', 'merchant'] as const;
/** One of {@link SINGLE_KINDS}. */
export type SingleKind = (typeof SINGLE_KINDS)[number];

/** Two things of one event taken together: a card at a merchant, a customer on a device. */
export const PAIRS = {
  card_merchant: ['card', 'merchant'],
  customer_device: ['customer', 'device'],
} as const satisfies Record<string, readonly [SingleKind, SingleKind]>;
/** A pair of {@link PAIRS}. */
export type PairKind = keyof typeof PAIRS;
const PAIR_KINDS = Object.keys(PAIRS) as PairKind[];

/** The kinds of things whose history is kept, in the order in which features, labels and locks list them. */
export const ENTITY_KINDS: readonly EntityKind[] = [...SINGLE_KINDS, ...PAIR_KINDS];
/** One of {@link ENTITY_KINDS}; stored as `entity_kind`. */
export type EntityKind = SingleKind | PairKind;

/** Whether a kind stands for two things together. */
export function isPair(kind: EntityKind): kind is PairKind {
  return Object.hasOwn(PAIRS, kind);
}

/** One entity of a Site: its kind and its {@link entityKey}. */
export interface EntityRef {
  readonly kind: EntityKind;
  /** 32 lower-case hex digits (16 bytes). */
  readonly key: string;
}

/** Where an event names an entity of each kind; anything may stand there, since those objects are free-form. */
const NAMED_BY: Record<SingleKind, (event: TransactionEvent, merchantSubject: string) => unknown> =
  {
    card: (event) => event.payment_method?.token,
    customer: (event) => ownValue(event.customer, 'customer_id'),
    device: (event) => ownValue(event.device, 'device_id'),
    ip_prefix: (event) => ownValue(event.network, 'ip_prefix'),
    merchant: (_event, merchantSubject) => merchantSubject,
  };

/**
 * The entities an accepted event belongs to, at most one of each kind, in the order of {@link ENTITY_KINDS}.
 * Only non-empty strings and safe integers (as their decimal text) name an entity; everything else is no name. A pair
 * needs both its parts, and a merchant that the event itself names: with one merchant a card's pair is the card.
 *
 * @param merchantSubject  merchant_external_id, or the Site's default subject
 */
export function entitiesOf(event: TransactionEvent, merchantSubject: string): EntityRef[] {
  const entities: EntityRef[] = [];
  const keys: Partial<Record<SingleKind, string>> = {};
  for (const kind of SINGLE_KINDS) {
    const name = entityName(NAMED_BY[kind](event, merchantSubject));
    if (name === undefined) continue;
    const key = entityKey(kind, name);
    keys[kind] = key;
    entities.push({ kind, key });
  }
  if (event.merchant_external_id === undefined) delete keys.merchant;
  for (const kind of PAIR_KINDS) {
    const [one, other] = PAIRS[kind];
    if (keys[one] === undefined || keys[other] === undefined) continue;
    entities.push({ kind, key: entityKey(kind, keys[one] + keys[other]) });
  }
  return entities;
}

/**
 * The stored key of an entity: the first 16 bytes, in hex, of SHA-256 over kind, NUL and the caller's text.
 * Hides the text from a reader of the table, but not from one who can guess it: short ids can be tried out.
 */
export function entityKey(kind: EntityKind, name: string): string {
  return hash('sha256', `${kind}\0${name}`, 'hex').slice(0, 32);
}

/** A value of a free-form object, only if it is the object's own: `__proto__` and `constructor` are no data. */
export function ownValue(object: unknown, key: string): unknown {
  if (typeof object !== 'object' || object === null || !Object.hasOwn(object, key))
    return undefined;
  return (object as Record<string, unknown>)[key];
}

function entityName(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  return Number.isSafeInteger(value) ? String(value) : undefined;
}
