import type { Client } from 'pg';
import { withClient } from '../cluster.ts';

/** How a ledger is grown. */
export interface LedgerGrowth {
  readonly rows: number;
  /** So many of the rows belong to one merchant of the first Site. */
  readonly busiestMerchantRows: number;
  /** Subject of that merchant. */
  readonly busiestMerchant: string;
  /** Begins every source_event_id; what follows is in no order, as with UUIDs. */
  readonly idPrefix: string;
  readonly onProgress?: (rows: number) => void;
}

/** Rows of one statement. */
const CHUNK = 100_000;

/** Sessions that insert at once. */
const SESSIONS = 2;

/** The sequence hands out blocks of so many ids (ledger/ids.ts); grown rows take theirs from the blocks before. */
const BLOCK = 1_000;

/**
 * Share of an index page that is full once keys have come in any order for long: leaf pages split in the middle. An index
 * that is built at once is packed tighter, and would be a flattering stand-in.
 */
const GROWN_FILL_PERCENT = 70;

/** Time that the grown rows are spread over, days, ending an hour ago. */
const DAYS = 30;

/**
 * Fills the ledger and its idempotency keys as so many accepted events would have, straight in the database: the same
 * columns, widths, constraints and index fill, in order of time. Without payloads, jobs and evaluations, which lie in
 * tables whose keys only ever grow at one end. Needs the owner's URL and an otherwise idle, seeded database.
 */
export async function growLedger(ownerUrl: string, growth: LedgerGrowth): Promise<void> {
  await withClient(ownerUrl, async (owner) => {
    await owner.query(`select setval('ingestion_id_block', $1::bigint)`, [
      Math.ceil(growth.rows / BLOCK) + 2,
    ]);
    // Filled in key order afterwards: ten million insertions at random places would take half an hour.
    const keys = await dropKey(owner, 'idempotency_key', 'p');
    const ids = await dropKey(owner, 'ingestion', 'u');
    let next = 0;
    let done = 0;
    const insert = async (session: Client): Promise<void> => {
      await session.query('set synchronous_commit = off');
      await session.query(`set work_mem = '64MB'`);
      while (next < growth.rows) {
        const from = next;
        next = Math.min(growth.rows, from + CHUNK);
        const count = next - from;
        await insertRows(session, growth, from, count);
        done += count;
        growth.onProgress?.(done);
      }
    };
    await Promise.all(
      Array.from({ length: SESSIONS }, () => withClient(ownerUrl, (session) => insert(session))),
    );
    await keys.restore(GROWN_FILL_PERCENT);
    await ids.restore(GROWN_FILL_PERCENT);
    await owner.query('vacuum (analyze) ingestion, idempotency_key');
    await owner.query('checkpoint');
  });
}

async function insertRows(
  session: Client,
  growth: LedgerGrowth,
  from: number,
  count: number,
): Promise<void> {
  await session.query(
    `with sites as (
       select array_agg(site_id order by site_id) as ids, array_agg(credential_id order by site_id) as credentials
       from (select site_id, min(id) as credential_id from credential group by site_id) as each_site
     ), numbered as (
       select n, case when n < $3 then 1 else 1 + (n % array_length(ids, 1))::int end as site, ids, credentials,
         date_trunc('milliseconds', now() - interval '1 hour' - interval '${DAYS} days' * (1 - n / $4::float8)) as at
       from generate_series($1::bigint, $1::bigint + $2::bigint - 1) as n, sites
     ), event as (
       insert into ingestion (site_id, id, source_event_id, payload_hash, hash_version, received_at, occurred_at,
         event_type, transaction_type, transaction_status, amount_minor, currency, merchant_subject, credential_id)
       select ids[site], ${BLOCK} + n, $6 || translate(substr(md5('id-' || n), 1, 16), '0123456789abcdef', 'bcdfghjklmnpqrst'), sha256(int8send(n)), 1, at, at,
         'PAYMENT_AUTH', 'AUTH', 'APPROVED', 100 * (1 + n % 9000), 'KRW',
         case when n < $3 then $5::text else 'merchant-' || n % 40 end, credentials[site]
       from numbered
     )
     insert into idempotency_key (site_id, operation, key_hash, fingerprint, hash_version, ingestion_id, created_at)
     select ids[site], 'event', md5('key-' || n)::uuid, sha256(int8send(n)), 1, ${BLOCK} + n, at from numbered`,
    [from, count, growth.busiestMerchantRows, growth.rows, growth.busiestMerchant, growth.idPrefix],
  );
}

/**
 * Takes the primary key (`p`) or the one unique constraint (`u`) off a table; `restore` builds it again, its index filled
 * to a percentage, and leaves its settings as they were.
 */
async function dropKey(
  owner: Client,
  table: string,
  kind: 'p' | 'u',
): Promise<{ restore(fillPercent: number): Promise<void> }> {
  const { rows } = await owner.query<{ name: string; columns: string }>(
    `select con.conname as name, string_agg(quote_ident(att.attname), ', ' order by place) as columns
     from pg_constraint con cross join unnest(con.conkey) with ordinality as key (attnum, place)
     join pg_attribute att on att.attrelid = con.conrelid and att.attnum = key.attnum
     where con.conrelid = $1::regclass and con.contype = $2 group by con.conname`,
    [table, kind],
  );
  const [key] = rows;
  if (key === undefined || rows.length > 1) {
    throw new Error(`${table} was expected to have one constraint of kind ${kind}`);
  }
  const { name, columns } = key;
  await owner.query(`alter table ${table} drop constraint ${name}`);
  return {
    async restore(fillPercent) {
      await owner.query(`set maintenance_work_mem = '512MB'`);
      await owner.query(
        `create unique index ${name} on ${table} (${columns}) with (fillfactor = ${fillPercent})`,
      );
      await owner.query(
        `alter table ${table} add constraint ${name} ${kind === 'p' ? 'primary key' : 'unique'} using index ${name}`,
      );
      await owner.query(`alter index ${name} reset (fillfactor)`);
    },
  };
}
