import { createOrm } from '../../entities/orm.ts';
import { defaultEvaluators } from '../../jobs/evaluators.ts';
import { importBatch } from '../../jobs/import-batch.ts';
import { createIdSource } from '../../ledger/ids.ts';
import { readImportTarget, type PastEvent, type PastLabel } from '../../ledger/import-events.ts';
import { createPartitions } from '../../ledger/partitions.ts';
import { createPipelinedTransactions } from '../../ledger/transactions.ts';
import type { BenchDatabase } from '../cluster.ts';
import type { LoadCredential } from '../load/protocol.ts';
import { patiently } from '../patiently.ts';
import { labelledPast, type PastOptions } from './labelled-past.ts';

const DAY_MS = 86_400_000;

/** Events of one transaction at most. */
const BATCH = 256;

/** Events of the past in the order of time, and the labels that they will get. */
interface Batch {
  readonly events: (PastEvent & { readonly at: number })[];
  readonly labels: PastLabel[];
}

/** What came of a past. */
export interface ImportedPast {
  readonly events: number;
  readonly labels: number;
}

/**
 * Imports a labelled past into one Site as the service's own history import does: each event judged by the rules with
 * the features of its time and each label counted from when it came, up to `until` (ms since 1970 UTC). Nothing is
 * copied or made up in the database.
 */
export async function importPast(
  database: BenchDatabase,
  credential: LoadCredential,
  past: PastOptions & { readonly until: number },
  onEvents: (done: number) => void,
): Promise<ImportedPast> {
  await makePartitions(database.ownerUrl, past.from, past.until);
  const pipelined = createPipelinedTransactions({
    url: database.appUrl,
    poolSize: 2,
    applicationName: 'bench import',
    statementTimeoutMs: 60_000,
  });
  const ids = createIdSource();
  const evaluators = defaultEvaluators();
  const siteId = BigInt(credential.siteId);
  let due: PastLabel[] = [];
  const done = { events: 0, labels: 0 };
  const take = async ({ events, labels: later }: Batch): Promise<void> => {
    const at = events.at(-1)?.at ?? past.until;
    // What became known while the batch happened waits for the next: no event may know of a label too early.
    const known = events[0]?.at ?? past.until;
    const labels = due.filter((label) => label.labelledAt <= known);
    due = [...due.filter((label) => label.labelledAt > known), ...later];
    const imported = await patiently(() =>
      pipelined.transaction((db) =>
        importBatch(db, { ids, target, evaluators }, { events, labels }, at),
      ),
    );
    if (imported.failed.length > 0) throw imported.failed[0]?.error;
    done.events += imported.events.added.length;
    done.labels += imported.labels.added;
    onEvents(done.events);
  };
  const target = await pipelined.transaction((db) =>
    readImportTarget(db, siteId, BigInt(credential.credentialId)),
  );
  try {
    let batch: Batch = { events: [], labels: [] };
    for (const { at, event, labels } of labelledPast(past)) {
      batch.events.push({ at, event });
      batch.labels.push(...labels);
      if (batch.events.length < BATCH) continue;
      await take(batch);
      batch = { events: [], labels: [] };
    }
    await take(batch);
    await take({ events: [], labels: [] });
    return done;
  } finally {
    await pipelined.close();
  }
}

async function makePartitions(ownerUrl: string, from: number, until: number): Promise<void> {
  const orm = createOrm({
    url: ownerUrl,
    poolSize: 1,
    applicationName: 'bench import',
    statementTimeoutMs: 0,
  });
  try {
    await createPartitions(orm.em.getKysely(), from, Math.ceil((until - from) / DAY_MS) + 1);
  } finally {
    await orm.close(true);
  }
}
