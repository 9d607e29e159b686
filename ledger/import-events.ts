import { hash } from 'node:crypto';
import { canonicalJson } from '../contract/canonical-json.ts';
import { parseInstant } from '../contract/instant.ts';
import { normalizedSourceEventId } from '../contract/transaction-rules.ts';
import type { TransactionEvent } from '../contract/transaction.ts';
import { run, type Db } from './database.ts';
import { addEntityLabels, type NewEntityLabel } from './entity-labels.ts';
import type { IdSource } from './ids.ts';
import { insertLedgerRows, insertPayloads, type Numbered } from './ingest-statements.ts';
import type { LedgerRef } from './load-batch.ts';

/** Whose history is imported. */
export interface ImportTarget {
  readonly siteId: bigint;
  /** The credential that the rows name; its quota is not touched. */
  readonly credentialId: bigint;
  /** The merchant of events that name none. */
  readonly defaultSubject: string;
}

/** Reads whose history is imported, for rows that name this credential. */
export async function readImportTarget(
  db: Db,
  siteId: bigint,
  credentialId: bigint,
): Promise<ImportTarget> {
  const { rows } = await run<{ default_subject: string }>(
    db,
    'select default_subject from site where id = $1',
    [siteId],
  );
  return { siteId, credentialId, defaultSubject: rows[0]?.default_subject ?? '' };
}

/** A past event, valid by the contract; it counts as received when it happened, unless a time is given. */
export interface PastEvent {
  readonly event: TransactionEvent;
  /** ms since 1970 UTC. */
  readonly receivedAt?: number;
}

/** A past outcome label of one of the Site's events. */
export interface PastLabel {
  readonly sourceEventId: string;
  readonly outcomeLabel: 'FRAUD_CONFIRMED' | 'FALSE_POSITIVE' | 'CHARGEBACK_CONFIRMED';
  /** When it arrived, ms since 1970 UTC. */
  readonly labelledAt: number;
}

/** What became of past events: new rows, in the order given, and how many were there already. */
export interface ImportedEvents {
  readonly added: readonly LedgerRef[];
  readonly known: number;
  /** Ids that the ledger knows with another payload: left as they are. */
  readonly conflicts: readonly string[];
}

/**
 * Appends past events to the ledger, dated by their own times: no quota, no key, no job, no webhook. Needs an open
 * transaction. Calling twice adds nothing. The caller evaluates what was added, in the same transaction.
 */
export async function importEvents(
  db: Db,
  ids: IdSource,
  target: ImportTarget,
  events: readonly PastEvent[],
): Promise<ImportedEvents> {
  const rows = new Map<string, Omit<Numbered, 'ingestionId'>>();
  const conflicts = new Set<string>();
  for (const past of events) {
    const row = rowOf(target, past);
    const twin = rows.get(row.sourceEventId);
    if (twin === undefined) rows.set(row.sourceEventId, row);
    else if (twin.payloadHash !== row.payloadHash) conflicts.add(row.sourceEventId);
  }
  const { rows: stored } = await run<{ source_event_id: string; payload_hash: Buffer }>(
    db,
    `select event.source_event_id, event.payload_hash
     from unnest($2::text[]) as wanted (source_event_id)
     join ingestion event on event.site_id = $1 and event.source_event_id = wanted.source_event_id`,
    [target.siteId, [...rows.keys()]],
  );
  for (const { source_event_id: id, payload_hash: payloadHash } of stored) {
    if (rows.get(id)?.payloadHash !== payloadHash.toString('hex')) conflicts.add(id);
    rows.delete(id);
  }
  const fresh = [...rows.values()];
  const numbers = await ids.take(db, fresh.length);
  const numbered = fresh.map((row, index): Numbered => ({
    ...row,
    ingestionId: numbers[index] as bigint,
  }));
  if (numbered.length > 0) {
    await insertLedgerRows(db, numbered);
    await insertPayloads(db, numbered);
  }
  return {
    added: numbered.map(({ siteId, ingestionId }) => ({ siteId, ingestionId })),
    known: events.length - numbered.length - conflicts.size,
    conflicts: [...conflicts],
  };
}

function rowOf(
  { siteId, credentialId, defaultSubject }: ImportTarget,
  { event, receivedAt }: PastEvent,
): Omit<Numbered, 'ingestionId'> {
  const { transaction } = event;
  const body = canonicalJson(event);
  const occurredAt = parseInstant(transaction.occurred_at) ?? 0;
  const sourceEventId = normalizedSourceEventId(event);
  return {
    siteId,
    credentialId,
    // No Idempotency-Key came with it, so none is bound.
    keyHash: '',
    payloadHash: hash('sha256', body, 'hex'),
    sourceEventId,
    callerEventId: sourceEventId === event.source_event_id ? null : event.source_event_id,
    originalEventId: transaction.original_event_id ?? null,
    receivedAt: receivedAt ?? occurredAt,
    occurredAt,
    eventType: event.event_type,
    transactionType: transaction.type,
    transactionStatus: transaction.status,
    amountMinor: transaction.amount_minor,
    currency: transaction.currency,
    merchantSubject: event.merchant_external_id ?? defaultSubject,
    body,
  };
}

/** What became of past labels. */
export interface ImportedLabels {
  readonly added: number;
  readonly known: number;
  /** Ids that the ledger does not have. */
  readonly unknown: readonly string[];
}

/**
 * Appends past labels, dated by their own times, and counts them for the entities of their events: no webhook. Needs an
 * open transaction. Calling twice adds nothing.
 *
 * @param entitiesOf  which entities an event's labels count for
 */
export async function importLabels(
  db: Db,
  target: ImportTarget,
  labels: readonly PastLabel[],
  entitiesOf: (body: string, merchantSubject: string) => NewEntityLabel['entities'],
): Promise<ImportedLabels> {
  if (labels.length === 0) return { added: 0, known: 0, unknown: [] };
  const { rows } = await run<{
    id: string;
    source_event_id: string;
    merchant_subject: string;
    body: string | null;
    happened_at: string;
  }>(
    db,
    `select event.id, event.source_event_id, event.merchant_subject, payload.body,
       (extract(epoch from least(event.occurred_at, event.received_at)) * 1000)::bigint as happened_at
     from (select distinct id from unnest($2::text[]) as named (id)) as wanted
     join ingestion event on event.site_id = $1 and event.source_event_id = wanted.id
     left join ingestion_payload payload on payload.site_id = event.site_id and payload.ingestion_id = event.id
       and payload.received_at = event.received_at`,
    [target.siteId, labels.map(({ sourceEventId }) => sourceEventId)],
  );
  const events = new Map(rows.map((row) => [row.source_event_id, row]));
  const found = labels.flatMap((label) => {
    const event = events.get(label.sourceEventId);
    return event === undefined ? [] : [{ label, event }];
  });
  const { rows: inserted } = await run<{ ingestion_id: string; outcome_label: string }>(
    db,
    `insert into outcome_label (site_id, ingestion_id, outcome_label, credential_id, labelled_at)
     select $1::bigint, ingestion_id, outcome_label, $2::bigint, labelled_at
     from unnest($3::bigint[], $4::text[], $5::timestamptz[]) as label (ingestion_id, outcome_label, labelled_at)
     on conflict (site_id, ingestion_id, outcome_label) do nothing
     returning ingestion_id, outcome_label`,
    [
      target.siteId,
      target.credentialId,
      found.map(({ event }) => event.id),
      found.map(({ label }) => label.outcomeLabel),
      found.map(({ label }) => new Date(label.labelledAt).toISOString()),
    ],
  );
  const isNew = new Set(inserted.map((row) => `${row.ingestion_id}/${row.outcome_label}`));
  const counted = found.filter(({ label, event }) =>
    // Removed when taken: of two equal labels in one call one was inserted.
    isNew.delete(`${event.id}/${label.outcomeLabel}`),
  );
  await addEntityLabels(
    db,
    counted.flatMap(({ label, event }) =>
      event.body === null
        ? []
        : [
            {
              siteId: target.siteId,
              ingestionId: BigInt(event.id),
              outcomeLabel: label.outcomeLabel,
              labelledAt: label.labelledAt,
              happenedAt: Number(event.happened_at),
              entities: entitiesOf(event.body, event.merchant_subject),
            },
          ],
    ),
  );
  return {
    added: inserted.length,
    known: found.length - inserted.length,
    unknown: labels
      .filter(({ sourceEventId }) => !events.has(sourceEventId))
      .map(({ sourceEventId }) => sourceEventId),
  };
}
