import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { failureKind } from '../../ledger/failures.ts';
import { createPipelinedTransactions, type Transaction } from '../../ledger/transactions.ts';
import { learn, TooFewLabels } from '../../risk/model/learn.ts';
import { encodeModel } from '../../risk/model/model.ts';
import { answerInBackground } from '../background-thread.ts';
import { createPace } from './pace.ts';
import { readLearningRows } from './read-rows.ts';
import type { TrainingAnswer, TrainingOrder } from './train-model.ts';

/** Share of the time that reading takes, about. */
const READING = 0.2;

async function train(
  order: TrainingOrder,
  onProgress: (share: number) => void,
): Promise<TrainingAnswer> {
  const database = createPipelinedTransactions({
    url: order.appUrl,
    poolSize: 1,
    applicationName: 'transaction-risk training',
    statementTimeoutMs: 60_000,
  });
  try {
    onProgress(0);
    const rest = createPace();
    const rows = await readLearningRows(
      patient(database.transaction),
      BigInt(order.siteId),
      order.period,
      {
        mostRows: order.mostRows,
        onProgress: (share) => onProgress(share * READING),
        rest,
      },
    );
    const { forest, calibration, metrics } = learn(
      rows,
      order.settings,
      (share) => onProgress(READING + share * (1 - READING)),
      rest,
    );
    return { kind: 'learned', text: encodeModel(forest, calibration), metrics };
  } catch (error: unknown) {
    if (!(error instanceof TooFewLabels)) throw error;
    return { kind: 'too few', reason: error.message };
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

const order = workerData as TrainingOrder;
await answerInBackground((onProgress) => train(order, onProgress));
