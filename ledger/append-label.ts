import { Refusal } from '../contract/errors.ts';
import type { OutcomeLabel } from '../contract/outcome.ts';
import { bindOutcomeKey } from './bind-outcome-key.ts';
import { run, type Db } from './database.ts';
import { addEntityLabels } from './entity-labels.ts';
import { outcomeRecorded } from './webhook-causes.ts';
import type { RecordWebhookEvents } from './webhook-events.ts';

/** A validated outcome label on its way into the ledger. Times in ms since 1970 UTC. */
export interface LabelSubmission {
  readonly siteId: bigint;
  readonly credentialId: bigint;
  readonly sourceEventId: string;
  readonly outcomeLabel: OutcomeLabel;
  readonly keyHash: string;
  /** SHA-256 over path id and body, as hex: the same key with another id is another request. */
  readonly fingerprint: string;
  readonly labelledAt: number;
}

/** The answer to a label; `added` is false for a duplicate, `replayed` true for a repeated key. */
export interface LabelAcceptance {
  readonly ingestionId: bigint;
  readonly sourceEventId: string;
  readonly added: boolean;
  readonly replayed: boolean;
}

/** Which entities a label counts for; given in, so that the ledger knows nothing of judgement. */
export type EntitiesOfBody = (
  body: string,
  merchantSubject: string,
) => readonly { readonly kind: string; readonly key: string }[];

/**
 * Appends a label, binds its key, counts it for the transaction's entities and tells the Site's webhooks. Needs an open
 * transaction.
 * Calling twice with the same key changes nothing; the event itself is never touched.
 *
 * @throws Refusal TRANSACTION_NOT_FOUND, IDEMPOTENCY_CONFLICT
 */
export async function appendLabel(
  db: Db,
  label: LabelSubmission,
  entitiesOf: EntitiesOfBody,
  recordWebhooks: RecordWebhookEvents,
): Promise<LabelAcceptance> {
  const { rows } = await run<{
    id: string;
    merchant_subject: string;
    body: string | null;
    happened_at: string;
  }>(
    db,
    `select event.id, event.merchant_subject, payload.body,
       (extract(epoch from least(event.occurred_at, event.received_at)) * 1000)::bigint as happened_at
     from ingestion event
     left join ingestion_payload payload on payload.site_id = event.site_id and payload.ingestion_id = event.id
       and payload.received_at = event.received_at
     where event.site_id = $1 and event.source_event_id = $2`,
    [label.siteId, label.sourceEventId],
  );
  const event = rows[0];
  if (event === undefined) throw new Refusal('TRANSACTION_NOT_FOUND');
  const ingestionId = BigInt(event.id);
  const answer = { ingestionId, sourceEventId: label.sourceEventId };
  const bound = await bindOutcomeKey(db, { ...label, ingestionId, createdAt: label.labelledAt });
  if (bound === 'same') return { ...answer, added: false, replayed: true };
  if (bound === 'other') {
    throw new Refusal('IDEMPOTENCY_CONFLICT', {
      details: ['Idempotency-Key: was used with a different payload'],
    });
  }
  const labelledAt = new Date(label.labelledAt).toISOString();
  const { affected } = await run(
    db,
    `insert into outcome_label (site_id, ingestion_id, outcome_label, credential_id, labelled_at)
     select $1::bigint, $2::bigint, $3::text, $4::bigint, $5::timestamptz
     on conflict (site_id, ingestion_id, outcome_label) do nothing`,
    [label.siteId, ingestionId, label.outcomeLabel, label.credentialId, labelledAt],
  );
  // Without its body (dropped after retention) a label still counts in reports, only not for the entities.
  if (affected === 1 && event.body !== null) {
    await addEntityLabels(db, [
      {
        siteId: label.siteId,
        ingestionId,
        outcomeLabel: label.outcomeLabel,
        labelledAt: label.labelledAt,
        happenedAt: Number(event.happened_at),
        entities: entitiesOf(event.body, event.merchant_subject),
      },
    ]);
  }
  if (affected === 1) {
    const transaction = { siteId: label.siteId, ...answer };
    await recordWebhooks(db, [outcomeRecorded(transaction, label.outcomeLabel)], label.labelledAt);
  }
  return { ...answer, added: affected === 1, replayed: false };
}
