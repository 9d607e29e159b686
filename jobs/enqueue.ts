import { fromKysely, type PgBoss } from 'pg-boss';
import type { EvaluateJob } from '../contract/jobs.ts';
import type { Db } from '../ledger/database.ts';
import { evaluationJobId } from '../ledger/ids.ts';
import type { LedgerRef } from '../ledger/load-batch.ts';
import { EVALUATE } from './queues.ts';

const jobOf = (ref: LedgerRef): { id: string; data: EvaluateJob } => ({
  id: evaluationJobId(ref.ingestionId),
  data: { site_id: String(ref.siteId), ingestion_id: String(ref.ingestionId) },
});

/**
 * Inserts the evaluation jobs of new ledger rows in the caller's transaction, one statement for all.
 * Returns how many were inserted: a job that exists already is skipped without a word, so the caller compares.
 */
export async function enqueueEvaluations(
  boss: PgBoss,
  db: Db,
  refs: readonly LedgerRef[],
): Promise<number> {
  const ids = await boss.insert(EVALUATE, refs.map(jobOf), {
    db: fromKysely(db),
    returnId: true,
  });
  return ids?.length ?? 0;
}

/**
 * Queues ingestions again, in the caller's transaction. What is left of an earlier job has the same id and would
 * silently keep the new one out, so it goes first. Safe for an ingestion that is queued already.
 */
export async function requeueEvaluations(
  boss: PgBoss,
  db: Db,
  refs: readonly LedgerRef[],
): Promise<number> {
  if (refs.length === 0) return 0;
  await boss.deleteJob(
    EVALUATE,
    refs.map((ref) => evaluationJobId(ref.ingestionId)),
    { db: fromKysely(db) },
  );
  return enqueueEvaluations(boss, db, refs);
}
