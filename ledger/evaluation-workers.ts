import { run, type Db } from './database.ts';
import type { RuleMarks } from './rule-sets.ts';

/** A worker that evaluates, with how far it follows releases and lists. Times in ms since 1970 UTC. */
export interface WorkerView extends RuleMarks {
  readonly id: string;
  readonly startedAt: number;
  readonly seenAt: number;
}

/** A worker that has been silent for this long, ms, is gone. */
export const WORKER_GONE_MS = 15_000;

const iso = (at: number): string => new Date(at).toISOString();

/** Says that a worker is alive and what it goes by; forgets those that have been silent for long. */
export async function saveWorker(
  db: Db,
  worker: RuleMarks & { readonly id: string; readonly startedAt: number },
  now: number,
): Promise<void> {
  await run(
    db,
    `insert into evaluation_worker (id, release_id, list_version, started_at, seen_at)
     values ($1, $2, $3, $4::timestamptz, $5::timestamptz)
     on conflict (id) do update set release_id = excluded.release_id, list_version = excluded.list_version,
       seen_at = excluded.seen_at`,
    [worker.id, worker.releaseId, worker.listVersion, iso(worker.startedAt), iso(now)],
  );
  await run(db, 'delete from evaluation_worker where seen_at < $1::timestamptz', [
    iso(now - 4 * WORKER_GONE_MS),
  ]);
}

/** A worker stops. */
export async function removeWorker(db: Db, id: string): Promise<void> {
  await run(db, 'delete from evaluation_worker where id = $1', [id]);
}

/** The workers that are alive at an instant. */
export async function listWorkers(db: Db, now: number): Promise<WorkerView[]> {
  const { rows } = await run<{
    id: string;
    release_id: string;
    list_version: string;
    started_at: string;
    seen_at: string;
  }>(
    db,
    `select id, release_id, list_version, (extract(epoch from started_at) * 1000)::bigint as started_at,
       (extract(epoch from seen_at) * 1000)::bigint as seen_at
     from evaluation_worker where seen_at > $1::timestamptz order by started_at, id`,
    [iso(now - WORKER_GONE_MS)],
  );
  return rows.map((row) => ({
    id: row.id,
    releaseId: BigInt(row.release_id),
    listVersion: BigInt(row.list_version),
    startedAt: Number(row.started_at),
    seenAt: Number(row.seen_at),
  }));
}
