import { bytesArray, plainArray } from './array-literals.ts';
import { CONTESTED } from './contested.ts';
import { run, type Db } from './database.ts';
import { joinTexts, RECORD_SEPARATOR } from './joined-texts.ts';
import { compare } from './ordering.ts';
import { HASH_VERSION, type Submission } from './submission.ts';

/** A submission with the id it will have if it is accepted. */
export interface Numbered extends Submission {
  readonly ingestionId: bigint;
}

let lastMonth = { from: Number.POSITIVE_INFINITY, until: 0, name: '' };

/** `YYYY-MM` of an instant in UTC: the month a first acceptance counts for. */
export function utcMonth(at: number): string {
  if (!(at >= lastMonth.from && at < lastMonth.until)) {
    const date = new Date(at);
    lastMonth = {
      from: Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1),
      until: Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1),
      name: date.toISOString().slice(0, 7),
    };
  }
  return lastMonth.name;
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
 *
 * @param overrun whether a total past the capacity is returned or undoes the transaction (`isContested`)
 */
export async function addUsage(
  db: Db,
  changes: readonly UsageChange[],
  at: number,
  overrun: 'told' | 'refused',
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
     select counted.credential_id, counted.month, counted.accepted, contract.capacity_limit,
       case when not $6::boolean or counted.accepted <= contract.capacity_limit then 0 else refuse_commit('${CONTESTED}') end
     from counted
     left join contract on contract.site_id = counted.site_id
       and contract.starts_at <= $5::timestamptz and contract.ends_at > $5::timestamptz`,
    [
      plainArray(sorted.map((change) => change.siteId)),
      plainArray(sorted.map((change) => change.credentialId)),
      plainArray(sorted.map((change) => change.month)),
      plainArray(sorted.map((change) => change.count)),
      new Date(at).toISOString(),
      overrun === 'refused',
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
  /** SHA-256 as hex. */
  readonly fingerprint: string;
  readonly ingestionId: bigint;
  readonly createdAt: number;
}

/** Binds keys, in key order. A key that is bound already undoes the transaction (`isContested`). */
export async function insertKeys(db: Db, bindings: readonly KeyBinding[]): Promise<void> {
  const sorted = [...bindings].sort(
    (a, b) => compare(a.siteId, b.siteId) || compare(a.keyHash, b.keyHash),
  );
  await run(
    db,
    `insert into idempotency_key (site_id, operation, key_hash, fingerprint, hash_version, ingestion_id, created_at)
     select site_id, 'event', key_hash, fingerprint, $6::smallint, ingestion_id, to_timestamp(created_at / 1000.0)
     from unnest($1::bigint[], $2::uuid[], $3::bytea[], $4::bigint[], $5::bigint[])
       as binding (site_id, key_hash, fingerprint, ingestion_id, created_at)`,
    [
      plainArray(sorted.map((binding) => binding.siteId)),
      plainArray(sorted.map((binding) => binding.keyHash)),
      bytesArray(sorted.map((binding) => binding.fingerprint)),
      plainArray(sorted.map((binding) => binding.ingestionId)),
      plainArray(sorted.map((binding) => binding.createdAt)),
      HASH_VERSION,
    ],
  );
}

/** Appends ledger rows, in key order. An event that is there already undoes the transaction (`isContested`). */
export async function insertLedgerRows(db: Db, rows: readonly Numbered[]): Promise<void> {
  const sorted = [...rows].sort(
    (a, b) => compare(a.siteId, b.siteId) || compare(a.sourceEventId, b.sourceEventId),
  );
  await run(
    db,
    `insert into ingestion (site_id, id, source_event_id, caller_event_id, original_event_id, payload_hash, hash_version,
       received_at, occurred_at, event_type, transaction_type, transaction_status, amount_minor, currency,
       merchant_subject, credential_id)
     select site_id, id, source_event_id, caller_event_id, original_event_id, payload_hash, $16::smallint,
       to_timestamp(received_at / 1000.0), to_timestamp(occurred_at / 1000.0), event_type, transaction_type,
       transaction_status, amount_minor, currency, merchant_subject, credential_id
     from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::bigint[],
       $8::bigint[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::text[], $14::text[], $15::bigint[])
       as event (site_id, id, source_event_id, caller_event_id, original_event_id, payload_hash, received_at,
         occurred_at, event_type, transaction_type, transaction_status, amount_minor, currency, merchant_subject,
         credential_id)`,
    [
      plainArray(sorted.map((row) => row.siteId)),
      plainArray(sorted.map((row) => row.ingestionId)),
      sorted.map((row) => row.sourceEventId),
      sorted.map((row) => row.callerEventId),
      sorted.map((row) => row.originalEventId),
      bytesArray(sorted.map((row) => row.payloadHash)),
      plainArray(sorted.map((row) => row.receivedAt)),
      plainArray(sorted.map((row) => row.occurredAt)),
      plainArray(sorted.map((row) => row.eventType)),
      plainArray(sorted.map((row) => row.transactionType)),
      plainArray(sorted.map((row) => row.transactionStatus)),
      plainArray(sorted.map((row) => row.amountMinor)),
      plainArray(sorted.map((row) => row.currency)),
      sorted.map((row) => row.merchantSubject),
      plainArray(sorted.map((row) => row.credentialId)),
      HASH_VERSION,
    ],
  );
}

/** Stores the bodies, which travel as one joined text. */
export async function insertPayloads(db: Db, rows: readonly Numbered[]): Promise<void> {
  await run(
    db,
    `insert into ingestion_payload (site_id, ingestion_id, received_at, body)
     select site_id, ingestion_id, to_timestamp(received_at / 1000.0), body
     from unnest($1::bigint[], $2::bigint[], $3::bigint[], string_to_array($4::text, $5::text))
       as payload (site_id, ingestion_id, received_at, body)`,
    [
      plainArray(rows.map((row) => row.siteId)),
      plainArray(rows.map((row) => row.ingestionId)),
      plainArray(rows.map((row) => row.receivedAt)),
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
  /** SHA-256 as hex. */
  readonly fingerprint: string;
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
    fingerprint: row.fingerprint.toString('hex'),
    sourceEventId: row.source_event_id,
    receivedAt: Number(row.received_at),
  }));
}
