import { run, type Db } from './database.ts';
import { joinTexts, RECORD_SEPARATOR } from './joined-texts.ts';
import { compare } from './ordering.ts';
import { HASH_VERSION, type Submission } from './submission.ts';

/** A submission with the id it will have if it is accepted. */
export interface Numbered extends Submission {
  readonly ingestionId: bigint;
}

/** `YYYY-MM` of an instant in UTC: the month a first acceptance counts for. */
export function utcMonth(at: number): string {
  return new Date(at).toISOString().slice(0, 7);
}

/** What a counter says after it was raised; `limit` is null when no contract is in force. */
export interface CountedUsage {
  readonly credentialId: bigint;
  readonly month: string;
  readonly accepted: number;
  readonly limit: number | null;
}

/** How many first acceptances to add for one credential and month. */
export interface UsageChange {
  readonly siteId: bigint;
  readonly credentialId: bigint;
  readonly month: string;
  readonly count: number;
}

const byUsageKey = (a: UsageChange, b: UsageChange): number =>
  compare(a.siteId, b.siteId) ||
  compare(a.credentialId, b.credentialId) ||
  compare(a.month, b.month);

/**
 * Adds to the usage counters and so locks them, in key order: the first lock of every group.
 * Returns the new totals beside the capacity of the contract in force at `at`, read in the same statement.
 * Needs an open transaction.
 */
export async function addUsage(
  db: Db,
  changes: readonly UsageChange[],
  at: number,
): Promise<CountedUsage[]> {
  const sorted = [...changes].sort(byUsageKey);
  const { rows } = await run<{
    credential_id: string;
    month: string;
    accepted: string;
    capacity_limit: string | null;
  }>(
    db,
    `with counted as (
       insert into usage_counter as counter (site_id, credential_id, month, accepted)
       select site_id, credential_id, month, accepted
       from unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) as change (site_id, credential_id, month, accepted)
       order by site_id, credential_id, month
       on conflict (site_id, credential_id, month) do update set accepted = counter.accepted + excluded.accepted
       returning site_id, credential_id, month, accepted
     )
     select counted.credential_id, counted.month, counted.accepted, contract.capacity_limit
     from counted
     left join contract on contract.site_id = counted.site_id
       and contract.starts_at <= $5::timestamptz and contract.ends_at > $5::timestamptz`,
    [
      sorted.map((change) => String(change.siteId)),
      sorted.map((change) => String(change.credentialId)),
      sorted.map((change) => change.month),
      sorted.map((change) => change.count),
      new Date(at).toISOString(),
    ],
  );
  return rows.map((row) => ({
    credentialId: BigInt(row.credential_id),
    month: row.month,
    accepted: Number(row.accepted),
    limit: row.capacity_limit === null ? null : Number(row.capacity_limit),
  }));
}

/** An Idempotency-Key and the ingestion it is bound to. */
export interface KeyBinding {
  readonly siteId: bigint;
  readonly keyHash: string;
  readonly fingerprint: Buffer;
  readonly ingestionId: bigint;
  readonly createdAt: number;
}

/** Binds keys, in key order; returns how many were new. A smaller number means that another process was first. */
export async function insertKeys(
  db: Db,
  operation: 'event' | 'outcome',
  bindings: readonly KeyBinding[],
): Promise<number> {
  const sorted = [...bindings].sort(
    (a, b) => compare(a.siteId, b.siteId) || compare(a.keyHash, b.keyHash),
  );
  const { affected } = await run(
    db,
    `insert into idempotency_key (site_id, operation, key_hash, fingerprint, hash_version, ingestion_id, created_at)
     select site_id, $6::text, key_hash, fingerprint, $7::smallint, ingestion_id, created_at
     from unnest($1::bigint[], $2::uuid[], $3::bytea[], $4::bigint[], $5::timestamptz[])
       as binding (site_id, key_hash, fingerprint, ingestion_id, created_at)
     on conflict (site_id, operation, key_hash) do nothing`,
    [
      sorted.map((binding) => String(binding.siteId)),
      sorted.map((binding) => binding.keyHash),
      sorted.map((binding) => binding.fingerprint),
      sorted.map((binding) => String(binding.ingestionId)),
      sorted.map((binding) => new Date(binding.createdAt).toISOString()),
      operation,
      HASH_VERSION,
    ],
  );
  return affected;
}

/** Appends ledger rows, in key order; returns how many were new. */
export async function insertLedgerRows(db: Db, rows: readonly Numbered[]): Promise<number> {
  const sorted = [...rows].sort(
    (a, b) => compare(a.siteId, b.siteId) || compare(a.sourceEventId, b.sourceEventId),
  );
  const { affected } = await run(
    db,
    `insert into ingestion (site_id, id, source_event_id, caller_event_id, original_event_id, payload_hash, hash_version,
       received_at, occurred_at, event_type, transaction_type, transaction_status, amount_minor, currency,
       merchant_subject, credential_id)
     select site_id, id, source_event_id, caller_event_id, original_event_id, payload_hash, $16::smallint,
       received_at, occurred_at, event_type, transaction_type, transaction_status, amount_minor, currency,
       merchant_subject, credential_id
     from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::timestamptz[],
       $8::timestamptz[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::text[], $14::text[], $15::bigint[])
       as event (site_id, id, source_event_id, caller_event_id, original_event_id, payload_hash, received_at,
         occurred_at, event_type, transaction_type, transaction_status, amount_minor, currency, merchant_subject,
         credential_id)
     on conflict (site_id, source_event_id) do nothing`,
    [
      sorted.map((row) => String(row.siteId)),
      sorted.map((row) => String(row.ingestionId)),
      sorted.map((row) => row.sourceEventId),
      sorted.map((row) => row.callerEventId),
      sorted.map((row) => row.originalEventId),
      sorted.map((row) => row.payloadHash),
      sorted.map((row) => new Date(row.receivedAt).toISOString()),
      sorted.map((row) => new Date(row.occurredAt).toISOString()),
      sorted.map((row) => row.eventType),
      sorted.map((row) => row.transactionType),
      sorted.map((row) => row.transactionStatus),
      sorted.map((row) => row.amountMinor),
      sorted.map((row) => row.currency),
      sorted.map((row) => row.merchantSubject),
      sorted.map((row) => String(row.credentialId)),
      HASH_VERSION,
    ],
  );
  return affected;
}

/** Stores the bodies, which travel as one joined text. */
export async function insertPayloads(db: Db, rows: readonly Numbered[]): Promise<void> {
  await run(
    db,
    `insert into ingestion_payload (site_id, ingestion_id, received_at, body)
     select site_id, ingestion_id, received_at, body
     from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], string_to_array($4::text, $5::text))
       as payload (site_id, ingestion_id, received_at, body)`,
    [
      rows.map((row) => String(row.siteId)),
      rows.map((row) => String(row.ingestionId)),
      rows.map((row) => new Date(row.receivedAt).toISOString()),
      joinTexts(rows.map((row) => row.body)),
      RECORD_SEPARATOR,
    ],
  );
}

/** What is already stored under a submission's key or source_event_id. */
export interface Existing {
  /** Position of the submission in the list that was asked for. */
  readonly index: number;
  readonly boundBy: 'key' | 'event';
  readonly ingestionId: bigint;
  readonly fingerprint: Buffer;
  readonly sourceEventId: string;
  readonly receivedAt: number;
}

/**
 * Finds what is stored under the keys and ids of submissions. Must be a statement of its own, after an insert lost
 * a race: inside the inserting statement it would see neither its own row nor the winner's.
 */
export async function findExisting(db: Db, items: readonly Submission[]): Promise<Existing[]> {
  const { rows } = await run<{
    index: string;
    bound_by: 'key' | 'event';
    ingestion_id: string;
    fingerprint: Buffer;
    source_event_id: string;
    received_at: string;
  }>(
    db,
    `with wanted as (
       select * from unnest($1::bigint[], $2::uuid[], $3::text[]) with ordinality
         as wanted (site_id, key_hash, source_event_id, index)
     )
     select wanted.index, 'key' as bound_by, key.ingestion_id, key.fingerprint, event.source_event_id,
       (extract(epoch from event.received_at) * 1000)::bigint as received_at
     from wanted
     join idempotency_key key on key.site_id = wanted.site_id and key.operation = 'event' and key.key_hash = wanted.key_hash
     join ingestion event on event.site_id = key.site_id and event.id = key.ingestion_id
     union all
     select wanted.index, 'event', event.id, event.payload_hash, event.source_event_id,
       (extract(epoch from event.received_at) * 1000)::bigint
     from wanted
     join ingestion event on event.site_id = wanted.site_id and event.source_event_id = wanted.source_event_id`,
    [
      items.map((item) => String(item.siteId)),
      items.map((item) => item.keyHash),
      items.map((item) => item.sourceEventId),
    ],
  );
  return rows.map((row) => ({
    index: Number(row.index) - 1,
    boundBy: row.bound_by,
    ingestionId: BigInt(row.ingestion_id),
    fingerprint: row.fingerprint,
    sourceEventId: row.source_event_id,
    receivedAt: Number(row.received_at),
  }));
}
