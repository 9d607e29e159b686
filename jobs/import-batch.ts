import type { TransactionEvent } from '../contract/transaction.ts';
import type { Db } from '../ledger/database.ts';
import type { IdSource } from '../ledger/ids.ts';
import {
  importEvents,
  importLabels,
  type ImportedEvents,
  type ImportedLabels,
  type ImportTarget,
  type PastEvent,
  type PastLabel,
} from '../ledger/import-events.ts';
import { entitiesOf } from '../risk/index.ts';
import { evaluateBatch, type BatchOutcome, type BatchParts } from './evaluate-batch.ts';

/** A slice of a Site's past: its labels count before its events. */
export interface ImportSlice {
  readonly labels: readonly PastLabel[];
  readonly events: readonly PastEvent[];
}

/** What became of it. */
export interface ImportedSlice {
  readonly events: ImportedEvents;
  readonly labels: ImportedLabels;
  readonly judged: BatchOutcome['judged'];
  /** Events whose evaluation failed: in the ledger, for the sweeper to queue. */
  readonly failed: BatchOutcome['failed'];
}

/**
 * Imports a slice of the past and judges its events as they would have been judged then, in the caller's transaction: no
 * quota, no job, no webhook. Calling twice changes nothing, so an import that was cut off is simply done again.
 *
 * @param now  the instant of the results, ms since 1970 UTC: that of the slice's last event where the past is replayed
 * @throws StateMoved, or what the database throws; the caller rolls back and may try again
 */
export async function importBatch(
  db: Db,
  {
    ids,
    target,
    evaluators,
  }: {
    readonly ids: IdSource;
    readonly target: ImportTarget;
    readonly evaluators: BatchParts['evaluators'];
  },
  slice: ImportSlice,
  now: number,
): Promise<ImportedSlice> {
  const labels = await importLabels(db, target, slice.labels, (body, merchantSubject) =>
    // Validated when it was accepted, and stored by us.
    entitiesOf(JSON.parse(body) as TransactionEvent, merchantSubject),
  );
  const events = await importEvents(db, ids, target, slice.events);
  const { judged, failed } = await evaluateBatch(db, events.added, now, { evaluators });
  return { events, labels, judged, failed };
}
