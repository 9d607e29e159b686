import { run, type Db } from './database.ts';
import { bareArray } from './joined-texts.ts';

/** Names one ledger row. */
export interface LedgerRef {
  readonly siteId: bigint;
  readonly ingestionId: bigint;
}

/** What an evaluation starts from. Times in ms since 1970 UTC. */
export interface BatchRow extends LedgerRef {
  /** The id under which the caller knows the event; for what is told to the caller, never for judgement. */
  readonly sourceEventId: string;
  readonly occurredAt: number;
  readonly receivedAt: number;
  readonly merchantSubject: string;
  /** Whether the Site has the event named as original, under its id or under the id that a tid replaced; null: none named. */
  readonly originalKnown: boolean | null;
  /** Null once the payload's partition was dropped. */
  readonly body: string | null;
  readonly evaluated: boolean;
}

/** Reads a batch of ledger rows with their bodies in one statement. A row that is not there (yet) is absent. */
export async function loadBatch(db: Db, refs: readonly LedgerRef[]): Promise<BatchRow[]> {
  const { rows } = await run<{
    site_id: string;
    id: string;
    source_event_id: string;
    occurred_at: string;
    received_at: string;
    merchant_subject: string;
    original_known: boolean | null;
    body: string | null;
    evaluated: boolean;
  }>(
    db,
    `select event.site_id, event.id, event.source_event_id, event.merchant_subject, payload.body,
       (extract(epoch from event.occurred_at) * 1000)::bigint as occurred_at,
       (extract(epoch from event.received_at) * 1000)::bigint as received_at,
       case when event.original_event_id is null then null else
         exists (select 1 from ingestion original where original.site_id = event.site_id
           and original.source_event_id = event.original_event_id and original.id <> event.id)
         or exists (select 1 from ingestion original where original.site_id = event.site_id
           and original.caller_event_id = event.original_event_id and original.id <> event.id)
       end as original_known,
       evaluation.ingestion_id is not null as evaluated
     from unnest($1::bigint[], $2::bigint[]) as wanted (site_id, id)
     join ingestion event on event.site_id = wanted.site_id and event.id = wanted.id
     left join ingestion_payload payload on payload.site_id = event.site_id
       and payload.ingestion_id = event.id and payload.received_at = event.received_at
     left join evaluation on evaluation.site_id = event.site_id and evaluation.ingestion_id = event.id`,
    [bareArray(refs.map((ref) => ref.siteId)), bareArray(refs.map((ref) => ref.ingestionId))],
  );
  return rows.map((row) => ({
    siteId: BigInt(row.site_id),
    ingestionId: BigInt(row.id),
    sourceEventId: row.source_event_id,
    occurredAt: Number(row.occurred_at),
    receivedAt: Number(row.received_at),
    merchantSubject: row.merchant_subject,
    originalKnown: row.original_known,
    body: row.body,
    evaluated: row.evaluated,
  }));
}
