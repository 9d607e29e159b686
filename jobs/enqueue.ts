import { fromKysely, type PgBoss } from 'pg-boss';
import type { EvaluateJob } from '../contract/jobs.ts';
import { JOBS_MISSING } from '../ledger/contested.ts';
import { run, type Db } from '../ledger/database.ts';
import { evaluationJobId } from '../ledger/ids.ts';
import type { LedgerRef } from '../ledger/load-batch.ts';
import { EVALUATE } from './queues.ts';

/** The group is the Site: workers look past the jobs of one that has too many (claim-turns.ts). */
const jobOf = (
  ref: LedgerRef,
): { id: string; data: EvaluateJob; group: { readonly id: string } } => ({
  id: evaluationJobId(ref.ingestionId),
  group: { id: String(ref.siteId) },
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
 * Inserts the evaluation jobs of new ledger rows as a statement that undoes the transaction unless it inserted all of
 * them, so that nobody has to wait for its answer before the commit.
 */
export async function enqueueAllEvaluations(
  boss: PgBoss,
  db: Db,
  refs: readonly LedgerRef[],
): Promise<void> {
  const demanding = {
    executeSql: async (sql: string, parameters: unknown[] = []) => {
      await run(
        db,
        `with inserted as (${sql})
         select case when count(*) = $2::int then 0 else refuse_commit('${JOBS_MISSING}') end from inserted`,
        [...parameters, refs.length],
      );
      return { rows: [] };
    },
  };
  await boss.insert(EVALUATE, refs.map(jobOf), { db: demanding, returnId: true });
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
