import { createOrm } from '../../entities/orm.ts';
import { replayResults } from '../../jobs/replay-results.ts';
import { createRulesOf } from '../../jobs/rules-of.ts';
import type { Transaction } from '../../ledger/transactions.ts';

/**
 * A process that knows nothing but the database, and judges every result of a Site again. Arguments: the application's
 * database URL, the Site's id. Prints one line of JSON.
 */
const [, , url = '', siteId = '0'] = process.argv;
const orm = createOrm({
  url,
  poolSize: 2,
  applicationName: 'test replay',
  statementTimeoutMs: 10_000,
});
const transaction: Transaction = (work) =>
  orm.em.fork().transactional((em) => work(em.getKysely()));
const period = { siteId: BigInt(siteId), from: 0, to: Date.UTC(2100, 0) };
const { different, ...counts } = await replayResults(
  transaction,
  createRulesOf(transaction),
  period,
);
console.log(JSON.stringify({ ...counts, different: different.map(String) }));
await orm.close(true);
