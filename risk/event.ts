import type { TransactionEvent } from '../contract/transaction.ts';
import { entitiesOf, type EntityKind, type EntityRef } from './entities.ts';
import { EventFacts } from './facts.ts';

/** An accepted event as the ledger has it: what {@link readEvent} starts from. */
export interface AcceptedEvent {
  readonly ingestionId: string;
  /** The accepted JSON, valid by the contract's schema. */
  readonly event: TransactionEvent;
  /** merchant_external_id, or the Site's default subject. */
  readonly merchantSubject: string;
  /** transaction.occurred_at in ms since 1970 UTC. */
  readonly occurredAt: number;
  /** When the ledger accepted it, in ms since 1970 UTC. */
  readonly receivedAt: number;
  /** Whether the Site's ledger has the event that original_event_id names; null where it names none. */
  readonly originalKnown: boolean | null;
}

/** What judgement knows of one event: no id and no text of the payload beyond the contract's own enumerations. */
export interface RiskEvent {
  readonly ingestionId: string;
  /**
   * The instant that decides windows and buckets, in ms since 1970 UTC: occurred_at, but never after received_at.
   * A terminal whose clock runs years ahead would otherwise push its entities' whole history out of every window.
   */
  readonly at: number;
  readonly entities: readonly EntityRef[];
  /** Keys of {@link entities} by kind. */
  readonly keys: Readonly<Partial<Record<EntityKind, string>>>;
  readonly facts: EventFacts;
  readonly originalKnown: boolean | null;
  /** Orders the profiles of a customer; absent where the event gives none. */
  readonly profileVersion: number | undefined;
}

/** Reads an accepted event once, so that features, rules and absorption need not look at the payload again. */
export function readEvent(accepted: AcceptedEvent): RiskEvent {
  const entities = entitiesOf(accepted.event, accepted.merchantSubject);
  const keys: Partial<Record<EntityKind, string>> = {};
  for (const entity of entities) keys[entity.kind] = entity.key;
  const at = Math.min(accepted.occurredAt, accepted.receivedAt);
  return {
    ingestionId: accepted.ingestionId,
    at,
    entities,
    keys,
    facts: new EventFacts(accepted.event, at),
    originalKnown: accepted.originalKnown,
    profileVersion: accepted.event.profile_version,
  };
}
