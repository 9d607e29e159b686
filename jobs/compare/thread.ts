import { workerData } from 'node:worker_threads';
import { countShadowPayments, readShadowPayments } from '../../ledger/shadow-payments.ts';
import { createPipelinedTransactions } from '../../ledger/transactions.ts';
import { answerInBackground } from '../background-thread.ts';
import { createRulesOf } from '../rules-of.ts';
import { daysBackwards, type ComparisonAnswer, type ComparisonOrder } from './compare-models.ts';
import { Comparing } from './comparison.ts';

const DAY_MS = 86_400_000;

const PAGE = 1_000;
const LAST_ID = 9_223_372_036_854_775_807n;

async function compare(
  order: ComparisonOrder,
  onProgress: (share: number) => void,
): Promise<ComparisonAnswer> {
  const database = createPipelinedTransactions({
    url: order.appUrl,
    poolSize: 1,
    applicationName: 'transaction-risk comparison',
    statementTimeoutMs: 60_000,
  });
  const { transaction } = database;
  try {
    const of = { siteId: BigInt(order.siteId), modelId: BigInt(order.modelId) };
    const { from, most, to } = order;
    const rulesOf = createRulesOf(transaction);
    const comparing = new Comparing(to - order.labelDelayDays * DAY_MS);
    const total = await transaction((db) => countShadowPayments(db, { ...of, from, to }));
    let done = 0;
    let reached = from;
    for (const day of daysBackwards(from, to)) {
      let before = LAST_ID;
      for (let isEnd = false; !isEnd && done < most;) {
        const rows = await transaction((db) =>
          readShadowPayments(db, { ...of, ...day }, before, Math.min(PAGE, most - done)),
        );
        for (const row of rows) {
          comparing.add(row, await rulesOf(of.siteId, row.evaluatorVersion));
        }
        done += rows.length;
        before = rows.at(-1)?.ingestionId ?? before;
        isEnd = rows.length < PAGE;
        if (done === most && total > most) reached = rows.at(-1)?.evaluatedAt ?? reached;
        onProgress(Math.min(1, done / Math.max(1, Math.min(total, most))));
      }
    }
    const iso = (at: number): string => new Date(at).toISOString();
    return { from: iso(reached), to: iso(to), ...comparing.finish() };
  } finally {
    await database.close();
  }
}

const order = workerData as ComparisonOrder;
await answerInBackground((onProgress) => compare(order, onProgress));
