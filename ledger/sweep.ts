import { run, type Db } from './database.ts';
import type { LedgerRef } from './load-batch.ts';
import { JOB_ID_SQL, needsRequeue } from './status.ts';

/** Ledger rows looked at in one pass, and the span of received_at it may cover: both bound its sort. */
const PASS = 5_000;
const PASS_MS = 10_000;

/** What one pass found, and how far it got. */
export interface SweepPass {
  readonly lost: readonly LedgerRef[];
  /** Everything received before it has been looked at; ms since 1970 UTC. */
  readonly sweptTo: number;
}

/** Where the last sweep got to, ms since 1970 UTC; undefined before the first. Held until the transaction ends: one sweeps at a time. */
export async function readWatermark(db: Db): Promise<number | undefined> {
  const { rows } = await run<{ swept_to: string }>(
    db,
    `select (extract(epoch from swept_to) * 1000)::bigint as swept_to from sweep_watermark where id = 1
     for update`,
  );
  return rows[0] === undefined ? undefined : Number(rows[0].swept_to);
}

/** Moves the watermark; never back. */
export async function writeWatermark(db: Db, sweptTo: number): Promise<void> {
  await run(
    db,
    `insert into sweep_watermark as mark (id, swept_to) select 1, $1::timestamptz
     on conflict (id) do update set swept_to = greatest(mark.swept_to, excluded.swept_to)`,
    [new Date(sweptTo).toISOString()],
  );
}

/**
 * Finds ledger rows received from `from` on, and before `until`, that nothing will ever evaluate: no evaluation, no open dead letter and no
 * job that will run. Reads by the block-range index on received_at, never the whole ledger.
 */
export async function findLost(db: Db, from: number, until: number): Promise<SweepPass> {
  const end = Math.min(until, from + PASS_MS);
  const { rows } = await run<{
    site_id: string;
    id: string;
    received_at: string;
    evaluated: boolean;
    dead_letter_open: boolean;
    job_state: string | null;
  }>(
    db,
    `with slice as (
       select site_id, id, received_at from ingestion
       where received_at >= $1::timestamptz and received_at < $2::timestamptz
       order by received_at limit ${PASS}
     )
     select slice.site_id, slice.id, (extract(epoch from slice.received_at) * 1000)::bigint as received_at,
       evaluation.ingestion_id is not null as evaluated, job.state::text as job_state,
       dead.ingestion_id is not null as dead_letter_open
     from slice
     left join evaluation on evaluation.site_id = slice.site_id and evaluation.ingestion_id = slice.id
     left join open_dead_letter dead on dead.site_id = slice.site_id and dead.ingestion_id = slice.id
     left join pgboss.job on job.name = 'evaluate' and job.id = ${JOB_ID_SQL('slice.id')}`,
    [new Date(from).toISOString(), new Date(end).toISOString()],
  );
  const lost: LedgerRef[] = [];
  let newest = from;
  for (const row of rows) {
    newest = Math.max(newest, Number(row.received_at));
    const facts = {
      evaluated: row.evaluated,
      deadLetterOpen: row.dead_letter_open,
      jobState: row.job_state,
    };
    if (needsRequeue(facts)) {
      lost.push({ siteId: BigInt(row.site_id), ingestionId: BigInt(row.id) });
    }
  }
  // A full pass ends at its newest row, whose neighbours of the same millisecond come with the next one.
  const sweptTo = rows.length < PASS ? end : Math.max(newest, from + 1);
  return { lost, sweptTo };
}
