import { getPriority, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { failureKind } from '../../ledger/failures.ts';
import { createPipelinedTransactions, type Transaction } from '../../ledger/transactions.ts';
import { learn, TooFewLabels } from '../../risk/model/learn.ts';
import { encodeModel } from '../../risk/model/model.ts';
import { readLearningRows } from './read-rows.ts';
import type { TrainingAnswer, TrainingOrder } from './run-thread.ts';

/** Nice value of this thread: requests and evaluations take the processor first. */
const NICE = 10;

async function main(order: TrainingOrder): Promise<void> {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  const answer = (message: TrainingAnswer): void => parentPort?.postMessage(message);
  try {
    // Never higher than it is. On Linux 0 means this thread alone; elsewhere it may be refused, which only makes the training a worse neighbour.
    setPriority(0, Math.max(NICE, getPriority(0)));
  } catch {
    // Goes on with the priority it has.
  }
  const database = createPipelinedTransactions({
    url: order.appUrl,
    poolSize: 1,
    applicationName: 'transaction-risk training',
    statementTimeoutMs: 60_000,
  });
  try {
    answer({ kind: 'progress', share: 0 });
    const rows = await readLearningRows(
      patient(database.transaction),
      BigInt(order.siteId),
      order.period,
      order.mostRows,
    );
    answer({ kind: 'progress', share: 0.2 });
    const { forest, calibration, metrics } = learn(rows, order.settings, (share) =>
      answer({ kind: 'progress', share: 0.2 + share * 0.8 }),
    );
    answer({ kind: 'learned', text: encodeModel(forest, calibration), metrics });
  } catch (error: unknown) {
    if (!(error instanceof TooFewLabels)) throw error;
    answer({ kind: 'too few', reason: error.message });
  } finally {
    await database.close();
  }
}

/** Attempts at a read, and the wait between two of them, ms. */
const ATTEMPTS = 10;
const WAIT_MS = 2_000;

/** Reads again where the database was away, or ended a transaction for which this thread got no processor in time. */
function patient(transaction: Transaction): Transaction {
  return async (work) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await transaction(work);
      } catch (error: unknown) {
        if (attempt === ATTEMPTS || failureKind(error) !== 'unavailable') throw error;
        await sleep(WAIT_MS);
      }
    }
  };
}

await main(workerData as TrainingOrder);
