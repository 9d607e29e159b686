import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../ledger/database.ts';
import { failureKind } from '../../ledger/failures.ts';
import {
  createPipelinedTransactions,
  type PipelinedTransactions,
} from '../../ledger/transactions.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('what an error of the database means', () => {
  let database: TestDatabase;
  let pipelined: PipelinedTransactions;

  before(async () => {
    database = await createTestDatabase();
    pipelined = createPipelinedTransactions({
      url: database.appUrl,
      poolSize: 1,
      applicationName: 'test',
      statementTimeoutMs: 5_000,
    });
  });
  after(async () => {
    await pipelined.close();
    await database.drop();
  });

  const kindOf = async (first: string, second: string): Promise<string> =>
    pipelined
      .transaction(async (db) => {
        await run(db, first, []);
        await sleep(200);
        await run(db, second, []);
      })
      .then(
        () => 'none',
        (error: unknown) => failureKind(error),
      );

  it('a transaction that was ended because its client was slow may be tried again, and the connection is replaced', async () => {
    const idle = `set local idle_in_transaction_session_timeout = '50ms'`;
    expect(await kindOf(idle, 'select 1')).to.equal('unavailable');
    expect(await kindOf('select 1', 'select 1')).to.equal('none');
  });

  it('a statement that took too long is an outage, a wrong value and a wrong statement are not', async () => {
    const limit = `set local statement_timeout = '50ms'`;
    expect(await kindOf(limit, 'select pg_sleep(1)')).to.equal('unavailable');
    expect(await kindOf('select 1', 'select 1 / 0')).to.equal('refused-data');
    expect(await kindOf('select 1', 'select nothing')).to.equal('unforeseen');
  });
});
