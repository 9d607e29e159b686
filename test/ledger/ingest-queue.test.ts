import { expect } from 'chai';
import { createHash, randomUUID } from 'node:crypto';
import type { MikroORM } from '@mikro-orm/postgresql';
import type { PgBoss } from 'pg-boss';
import { Refusal } from '../../contract/errors.ts';
import { createOrm } from '../../entities/orm.ts';
import { enqueueAllEvaluations, enqueueEvaluations } from '../../jobs/enqueue.ts';
import { createBoss } from '../../jobs/queues.ts';
import type { EnqueueEvaluations } from '../../ledger/commit-group.ts';
import { run, type Db } from '../../ledger/database.ts';
import { createIdSource } from '../../ledger/ids.ts';
import { IngestQueue, type IngestLimits } from '../../ledger/ingest-queue.ts';
import type { Submission } from '../../ledger/submission.ts';
import {
  createPipelinedTransactions,
  together,
  type PipelinedTransactions,
  type Transaction,
} from '../../ledger/transactions.ts';
import { RateLimiter } from '../../server/rate-limiter.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createSite } from '../support/site.ts';

describe('the group commit', () => {
  let database: TestDatabase;
  let orm: MikroORM;
  let boss: PgBoss;
  let pipelined: PipelinedTransactions;
  let siteId: bigint;
  let credentialId: bigint;

  before(async () => {
    database = await createTestDatabase();
    orm = createOrm({
      url: database.appUrl,
      poolSize: 8,
      applicationName: 'test',
      statementTimeoutMs: 10_000,
    });
    pipelined = createPipelinedTransactions({
      url: database.appUrl,
      poolSize: 8,
      applicationName: 'test groups',
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
    const site = await createSite(database);
    siteId = BigInt(site.siteId);
    credentialId = BigInt((await site.issue()).credentialId);
  });

  after(async () => {
    await boss.stop({ graceful: false });
    await pipelined.close();
    await orm.close(true);
    await database.drop();
  });

  const faults: unknown[] = [];
  const queueOf = (
    options: { limits?: Partial<IngestLimits>; enqueue?: EnqueueEvaluations } = {},
  ): IngestQueue =>
    new IngestQueue({
      transaction: pipelined.transaction,
      ids: createIdSource(),
      pool: (): Db => orm.em.fork().getKysely(),
      oneTrip: pipelined.oneTrip,
      admit: (credential) => new RateLimiter(() => orm.em.fork().getKysely()).admit(credential),
      enqueue: options.enqueue ?? ((db, rows) => enqueueAllEvaluations(boss, db, rows)),
      now: () => Date.now(),
      onFault: (error) => faults.push(error),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
    });

  const submissionOf = (changes: Partial<Submission> = {}): Submission => {
    const sourceEventId = changes.sourceEventId ?? randomUUID();
    const body = JSON.stringify({ id: sourceEventId, note: 'plain "quoted" \\ text' });
    return {
      siteId,
      credentialId,
      keyHash: randomUUID(),
      payloadHash: createHash('sha256').update(body).digest('hex'),
      sourceEventId,
      callerEventId: null,
      originalEventId: null,
      receivedAt: Date.now(),
      occurredAt: Date.now(),
      eventType: 'PAYMENT_AUTH',
      transactionType: 'AUTH',
      transactionStatus: 'APPROVED',
      amountMinor: 1_000,
      currency: 'KRW',
      merchantSubject: 'm',
      body,
      ...changes,
    };
  };

  const counts = async (): Promise<Record<string, number>> => {
    const [row] = await database.query<Record<string, number>>(
      `select (select count(*) from ingestion)::int as rows, (select count(*) from idempotency_key)::int as keys,
         (select count(*) from ingestion_payload)::int as payloads,
         (select count(*) from pgboss.job where name = 'evaluate')::int as jobs,
         (select coalesce(sum(accepted), 0) from usage_counter)::int as usage`,
    );
    return row ?? {};
  };

  const settle = (all: readonly Promise<unknown>[]): Promise<string[]> =>
    Promise.all(
      all.map((each) =>
        each.then(
          () => 'accepted',
          (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
        ),
      ),
    );

  it('stores a body to the letter, whatever is in it', async () => {
    const queue = queueOf();
    const bodies = ['{"a":"\\u001e"}', '{"a":"é\u2028日本 \\\\ , {} \\" NULL"}', '""', '{}'];
    const accepted = await Promise.all(bodies.map((body) => queue.submit(submissionOf({ body }))));
    for (const [index, { ingestionId }] of accepted.entries()) {
      const [row] = await database.query(
        'select body from ingestion_payload where ingestion_id = $1',
        [String(ingestionId)],
      );
      expect(row?.['body']).to.equal(bodies[index]);
    }
    await queue.close();
  });

  it('a row that the database refuses fails alone; its neighbours of the group are accepted', async () => {
    const queue = queueOf();
    const before = await counts();
    const all = Array.from({ length: 21 }, (_, n) =>
      queue.submit(submissionOf(n === 13 ? { sourceEventId: `nul-\0-${randomUUID()}` } : {})),
    );
    const outcomes = await settle(all);
    expect(outcomes.filter((outcome) => outcome === 'accepted')).to.have.length(20);
    expect(outcomes[13]).to.equal('CONTRACT_VALIDATION_FAILED');
    const after = await counts();
    for (const name of ['rows', 'keys', 'payloads', 'jobs', 'usage']) {
      expect(after[name]! - before[name]!, name).to.equal(20);
    }
    await queue.close();
  });

  it('commits nothing at all when a job is missing: no row, no key, no usage', async () => {
    const before = await counts();
    const queue = queueOf({
      enqueue: async (db, rows) => {
        // One of them is there already, and would be skipped without a word.
        await enqueueEvaluations(boss, orm.em.fork().getKysely(), rows.slice(1));
        return enqueueAllEvaluations(boss, db, rows);
      },
    });
    const outcomes = await settle([queue.submit(submissionOf()), queue.submit(submissionOf())]);
    expect(outcomes).to.deep.equal(['INTERNAL_ERROR', 'INTERNAL_ERROR']);
    expect(await counts()).to.deep.equal({ ...before, jobs: before['jobs']! + 1 });
    expect(faults).to.have.length(1);
    await queue.close();
  });

  it('equal submissions of one group share the answer; a different one under the key conflicts', async () => {
    const queue = queueOf();
    const first = submissionOf();
    const other = submissionOf({ keyHash: first.keyHash });
    const [one, two, three] = await Promise.allSettled([
      queue.submit(first),
      queue.submit(first),
      queue.submit(other),
    ]);
    expect(one).to.have.nested.property('value.replayed', false);
    expect(two).to.have.nested.property('value.replayed', true);
    expect(three).to.have.nested.property('reason.code', 'IDEMPOTENCY_CONFLICT');
    await queue.close();
  });

  it('when the first of a key is refused, the next one under it is accepted in its place', async () => {
    const poor = await createSite(database, { capacity: 0 });
    const poorId = BigInt((await poor.issue()).credentialId);
    const queue = queueOf();
    const key = randomUUID();
    const outcomes = await settle([
      queue.submit(
        submissionOf({ siteId: BigInt(poor.siteId), credentialId: poorId, keyHash: key }),
      ),
      queue.submit(
        submissionOf({ siteId: BigInt(poor.siteId), credentialId: poorId, keyHash: key }),
      ),
      queue.submit(submissionOf({ keyHash: key })),
    ]);
    expect(outcomes).to.deep.equal(['API_QUOTA_EXCEEDED', 'API_QUOTA_EXCEEDED', 'accepted']);
    await queue.close();
  });

  it('two processes with crossing groups neither dead-lock nor accept anything twice', async () => {
    const left = queueOf({ limits: { groupRows: 16, lanes: 2 } });
    const right = queueOf({ limits: { groupRows: 16, lanes: 2 } });
    const credentials = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const site = await createSite(database);
        return {
          siteId: BigInt(site.siteId),
          credentialId: BigInt((await site.issue()).credentialId),
        };
      }),
    );
    const before = await counts();
    for (let round = 0; round < 20; round += 1) {
      const shared = Array.from({ length: 32 }, (_, n) => submissionOf(credentials[n % 4]));
      const outcomes = await settle([
        ...shared.map((submission) => left.submit(submission)),
        ...shared.toReversed().map((submission) => right.submit(submission)),
      ]);
      expect(new Set(outcomes)).to.deep.equal(new Set(['accepted']));
    }
    const after = await counts();
    for (const name of ['rows', 'keys', 'payloads', 'jobs', 'usage']) {
      expect(after[name]! - before[name]!, name).to.equal(640);
    }
    await Promise.all([left.close(), right.close()]);
  });

  it('refuses at once past its bounds, and takes up again when there is room', async () => {
    const queue = queueOf({ limits: { queuedRows: 8 } });
    const outcomes = await settle(Array.from({ length: 20 }, () => queue.submit(submissionOf())));
    expect(outcomes.filter((outcome) => outcome === 'accepted')).to.have.length(8);
    expect(outcomes.filter((outcome) => outcome === 'INGESTION_UNAVAILABLE')).to.have.length(12);
    expect(queue.load).to.deep.equal({ rows: 0, bytes: 0 });
    await queue.submit(submissionOf());
    await queue.close();
    expect(await settle([queue.submit(submissionOf())])).to.deep.equal(['INGESTION_UNAVAILABLE']);
  });

  it('a job enqueued in a transaction that rolls back is gone with it', async () => {
    const before = await counts();
    const ormTransaction: Transaction = (work) =>
      orm.em.fork().transactional((em) => work(em.getKysely()));
    for (const transaction of [ormTransaction, pipelined.transaction]) {
      await transaction(async (db) => {
        const jobs = await enqueueEvaluations(boss, db, [{ siteId: 1n, ingestionId: 77n }]);
        expect(jobs).to.equal(1);
        throw new Error('rolled back');
      }).catch(() => undefined);
      expect(await counts()).to.deep.equal(before);
    }
  });

  it('of statements sent together the first that failed is the one reported, and nothing is kept', async () => {
    const before = await counts();
    const label = (n: number): string =>
      `insert into usage_counter (site_id, credential_id, month, accepted) values (1, ${n}, '2000-01', $1)`;
    const failure = await pipelined
      .transaction((db) =>
        together(
          run(db, label(1), [1]),
          run(db, 'select 1 / $1::int', [0]),
          run(db, label(2), [1]),
        ),
      )
      .catch((error: unknown) => error);
    expect(failure).to.include({ code: '22012' });
    expect(await counts()).to.deep.equal(before);
    // The connection is fit for the next transaction.
    const { rows } = await pipelined.transaction((db) => run(db, 'select $1::int as n', [7]));
    expect(rows).to.deep.equal([{ n: 7 }]);
  });
});
