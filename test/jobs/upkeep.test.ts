import { expect } from 'chai';
import type { PgBoss } from 'pg-boss';
import { takeOverDeadJobs } from '../../jobs/dead-letters.ts';
import { requeueEvaluations } from '../../jobs/enqueue.ts';
import { createBoss, EVALUATE_DEAD } from '../../jobs/queues.ts';
import { sweep, type UpkeepOptions } from '../../jobs/upkeep.ts';
import { openDeadLetter } from '../../ledger/failed-attempts.ts';
import { evaluationJobId } from '../../ledger/ids.ts';
import {
  createPipelinedTransactions,
  type PipelinedTransactions,
} from '../../ledger/transactions.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const NOW = Date.UTC(2026, 8, 1, 12);

describe('what nobody would evaluate', () => {
  let database: TestDatabase;
  let boss: PgBoss;
  let pipelined: PipelinedTransactions;

  before(async () => {
    database = await createTestDatabase();
    pipelined = createPipelinedTransactions({
      url: database.appUrl,
      poolSize: 2,
      applicationName: 'test',
      statementTimeoutMs: 10_000,
    });
    boss = createBoss({
      url: database.appUrl,
      backend: 'postgres',
      applicationName: 'test queue',
      supervise: false,
      migrate: false,
      onError: () => undefined,
    });
    await boss.start();
  });

  after(async () => {
    await boss.stop({ graceful: false });
    await pipelined.close();
    await database.drop();
  });

  const addLedgerRow = async (id: number, secondsAgo: number): Promise<void> => {
    await database.query(
      `insert into ingestion (site_id, id, source_event_id, payload_hash, hash_version, received_at, occurred_at, event_type,
         transaction_type, transaction_status, amount_minor, currency, merchant_subject, credential_id)
       values (1, $1::bigint, 'event-' || $1::text, '\\x00', 1, $2, $2, 'PAYMENT_AUTH', 'AUTH', 'APPROVED', 1, 'KRW', 'm', 1)`,
      [id, new Date(NOW - secondsAgo * 1_000)],
    );
  };

  const found: number[] = [];
  const options = (): UpkeepOptions => ({
    transaction: pipelined.transaction,
    requeue: (db, refs) => requeueEvaluations(boss, db, refs),
    clock: { now: () => NOW },
    retention: { payloads: 400, webhooks: 35 },
    onRequeued: (count) => found.push(count),
    onFault: (error) => {
      throw error instanceof Error ? error : new Error('fault');
    },
  });

  const jobs = async (): Promise<Record<string, string>> => {
    const rows = await database.query<{ id: string; state: string }>(
      `select id, state from pgboss.job where name = 'evaluate'`,
    );
    return Object.fromEntries(rows.map((row) => [row.id, row.state]));
  };

  it('is queued again by the sweeper once, counted, and never looked for twice', async () => {
    await addLedgerRow(1, 600); // lost: no job at all
    await addLedgerRow(2, 590); // evaluated
    await database.query(
      `insert into evaluation (site_id, ingestion_id, score, level, decision, reasons, rule_scores, evaluator_version, evaluated_at)
       values (1, 2, 0, 'low', 'ALLOW', '[]', '{}', 'x', now())`,
    );
    await addLedgerRow(3, 580); // an open dead letter
    const letter = { cause: 'X', attempts: 1, deadAt: NOW };
    await pipelined.transaction((db) =>
      openDeadLetter(db, { siteId: 1n, ingestionId: 3n }, letter),
    );
    await addLedgerRow(4, 570); // queued
    await pipelined.transaction((db) =>
      requeueEvaluations(boss, db, [{ siteId: 1n, ingestionId: 4n }]),
    );
    await addLedgerRow(5, 30); // too young: its commit or its job may still be on the way
    await addLedgerRow(6, 560); // its job was cancelled by hand
    await pipelined.transaction((db) =>
      requeueEvaluations(boss, db, [{ siteId: 1n, ingestionId: 6n }]),
    );
    await boss.cancel('evaluate', evaluationJobId(6n));

    expect(await sweep(options())).to.equal(2);
    expect(await jobs()).to.deep.equal({
      [evaluationJobId(1n)]: 'created',
      [evaluationJobId(4n)]: 'created',
      [evaluationJobId(6n)]: 'created',
    });
    expect(found).to.deep.equal([2]);
    expect(await database.query('select kind, detail from operator_event')).to.deep.equal([
      { kind: 'ledger_rows_requeued', detail: { count: 2, first: 'ing_1' } },
    ]);
    expect(await sweep(options())).to.equal(0);
  });

  it('becomes a dead letter when pg-boss itself gave up on the job, once and only if it is still open', async () => {
    const dead = (id: string): Promise<unknown> =>
      boss.insert(EVALUATE_DEAD, [{ data: { site_id: '1', ingestion_id: id } }]);
    await dead('1');
    await dead('1');
    await dead('2'); // has its evaluation
    await boss.insert(EVALUATE_DEAD, [{ data: { nonsense: true } }]);
    let opened = 0;
    const told: bigint[] = [];
    const taken = await takeOverDeadJobs({
      boss,
      transaction: pipelined.transaction,
      clock: { now: () => NOW },
      gaveUp: (_db, ref) => Promise.resolve(void told.push(ref.ingestionId)),
      onDead: () => (opened += 1),
      onFault: () => undefined,
    });
    expect(taken).to.equal(4);
    expect(opened).to.equal(1);
    expect(told, 'what tells the webhooks').to.deep.equal([1n]);
    const letters = await database.query(
      `select ingestion_id::int as id, cause from dead_letter where cause = 'WorkerLost'`,
    );
    expect(letters).to.deep.equal([{ id: 1, cause: 'WorkerLost' }]);
  });
});
