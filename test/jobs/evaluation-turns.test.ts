import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { evaluateBatch } from '../../jobs/evaluate-batch.ts';
import { defaultEvaluators } from '../../jobs/evaluators.ts';
import { KnownStates } from '../../jobs/known-states.ts';
import { StateMoved } from '../../ledger/entity-states.ts';
import type { LedgerRef } from '../../ledger/load-batch.ts';
import {
  createPipelinedTransactions,
  type PipelinedTransactions,
} from '../../ledger/transactions.ts';
import { entityKey } from '../../risk/index.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventOf, merchant, type Merchant } from '../support/merchant.ts';
import { runService, type RunningService } from '../support/running-service.ts';

describe('workers that take turns with the states of a Site', () => {
  let database: TestDatabase;
  let api: RunningService;
  let siteId: bigint;
  let caller: Merchant;
  let pipelined: PipelinedTransactions;
  const evaluators = defaultEvaluators();

  before(async () => {
    database = await createTestDatabase();
    api = await runService({ database, role: 'api' });
    const site = await api.createSite();
    siteId = BigInt(site.siteId);
    caller = merchant(api.url, (await site.issue()).apiKey);
    pipelined = createPipelinedTransactions({
      url: database.appUrl,
      poolSize: 2,
      applicationName: 'test',
      statementTimeoutMs: 10_000,
    });
  });

  after(async () => {
    await pipelined.close();
    await api.stop();
    await database.drop();
  });

  const accept = async (token: string): Promise<LedgerRef> => {
    const { body } = await caller.submit(eventOf({ payment_method: { type: 'CARD', token } }));
    return { siteId, ingestionId: BigInt(String(body.ingestion_id).slice('ing_'.length)) };
  };

  const judge = async (known: KnownStates, refs: readonly LedgerRef[]): Promise<void> => {
    const { failed } = await pipelined.transaction((db) =>
      evaluateBatch(db, refs, Date.now(), { evaluators, known }),
    );
    expect(failed).to.deep.equal([]);
  };

  const stored = async (token: string): Promise<{ attempts: number; version: number }> => {
    const [row] = await database.query<{ state: string; version: string }>(
      'select state, version from entity_state where site_id = $1 and entity_key = $2::uuid',
      [String(siteId), entityKey('card', token)],
    );
    const [, , , attempts = 0] = JSON.parse(row?.state ?? '[]') as number[];
    return { attempts, version: Number(row?.version) };
  };

  it('see what the other one counted, however much they remember themselves', async () => {
    const token = `tok-${randomUUID()}`;
    const [one, other] = [new KnownStates(), new KnownStates()];
    for (const worker of [one, one, other, one, other, other]) {
      await judge(worker, [await accept(token), await accept(token)]);
    }
    expect(await stored(token)).to.deep.equal({ attempts: 12, version: 6 });
  });

  it('count every event once when their batches run at the same time', async () => {
    const token = `tok-${randomUUID()}`;
    const workers = [new KnownStates(), new KnownStates()];
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(
        workers.map(async (worker) => judge(worker, [await accept(token), await accept(token)])),
      );
    }
    expect(await stored(token)).to.deep.equal({ attempts: 20, version: 10 });
  });

  it('write nothing over a change that went around the turns, and nothing else of that batch', async () => {
    const token = `tok-${randomUUID()}`;
    const known = new KnownStates();
    // Only what recurs is remembered.
    for (let times = 1; times <= 3; times += 1) await judge(known, [await accept(token)]);
    await database.query(
      'update entity_state set version = version + 1 where site_id = $1 and entity_key = $2::uuid',
      [String(siteId), entityKey('card', token)],
    );
    const ref = await accept(token);
    const error: unknown = await judge(known, [ref]).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(StateMoved);
    const results = await database.query('select 1 from evaluation where ingestion_id = $1', [
      String(ref.ingestionId),
    ]);
    expect(results).to.deep.equal([]);
    known.clear();
    await judge(known, [ref]);
    expect(await stored(token)).to.deep.equal({ attempts: 4, version: 5 });
  });

  it('judge an event that is in two batches once', async () => {
    const token = `tok-${randomUUID()}`;
    const ref = await accept(token);
    const known = new KnownStates();
    await judge(known, [ref]);
    await judge(known, [ref]);
    expect(await stored(token)).to.deep.equal({ attempts: 1, version: 1 });
  });
});
