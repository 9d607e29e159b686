import type { OutcomeLabel } from '../contract/outcome.ts';
import { ingestionIdOf } from '../contract/primitives.ts';
import type { Risk } from '../contract/risk.ts';
import { run, type Db } from './database.ts';
import type { LedgerRef } from './load-batch.ts';
import type { NewWebhookEvent, RecordWebhookEvents } from './webhook-events.ts';

/** A ledger row and the caller's own id of it. */
export interface KnownTransaction extends LedgerRef {
  readonly sourceEventId: string;
}

const named = ({ ingestionId, sourceEventId }: KnownTransaction) => ({
  ingestion_id: ingestionIdOf(ingestionId),
  source_event_id: sourceEventId,
});

/** A transaction was judged at `now` (ms). */
export const evaluated = (
  transaction: KnownTransaction,
  risk: Omit<Risk, 'evaluated_at'>,
  now: number,
): NewWebhookEvent => ({
  siteId: transaction.siteId,
  type: 'transaction.evaluated',
  ingestionId: transaction.ingestionId,
  data: { ...named(transaction), risk: { ...risk, evaluated_at: new Date(now).toISOString() } },
});

/** A label was appended to a transaction. */
export const outcomeRecorded = (
  transaction: KnownTransaction,
  label: OutcomeLabel,
): NewWebhookEvent => ({
  siteId: transaction.siteId,
  type: 'outcome.recorded',
  ingestionId: transaction.ingestionId,
  data: { ...named(transaction), outcome_label: label },
});

/** Tells that a transaction became a dead letter, in the transaction that opened it. */
export async function recordEvaluationFailed(
  db: Db,
  ref: LedgerRef,
  now: number,
  record: RecordWebhookEvents,
): Promise<void> {
  const { rows } = await run<{ source_event_id: string }>(
    db,
    'select source_event_id from ingestion where site_id = $1 and id = $2',
    [ref.siteId, ref.ingestionId],
  );
  const sourceEventId = rows[0]?.source_event_id;
  if (sourceEventId === undefined) return;
  const data = { ...named({ ...ref, sourceEventId }), evaluation_status: 'DLQ' as const };
  await record(db, [{ ...ref, type: 'transaction.evaluation_failed', data }], now);
}
