import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBoss, EVALUATE } from '../../jobs/queues.ts';
import { entityKey } from '../../risk/index.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventOf, merchant, type Merchant } from '../support/merchant.ts';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';
import { spawnService, untilReady, type WholeService } from '../support/whole-service.ts';

const cardEvent = (token: string, amount = 1_000): Record<string, unknown> =>
  eventOf({ payment_method: { type: 'CARD', token }, transaction: { amount_minor: amount } });

describe('evaluation', () => {
  let database: TestDatabase;
  let api: RunningService;
  let caller: Merchant;
  let siteId: string;

  before(async () => {
    database = await createTestDatabase();
    api = await runService({ database, role: 'api' });
    const site = await api.createSite();
    siteId = site.siteId;
    const keys = await Promise.all(Array.from({ length: 8 }, () => site.issue()));
    const merchants = keys.map(({ apiKey }) => merchant(api.url, apiKey));
    let turn = 0;
    // Many credentials of one Site, since each may call only 120 times a minute.
    caller = new Proxy(merchants[0]!, {
      get: (_, name) => merchants[(turn += 1) % merchants.length]![name as keyof Merchant],
    });
  });

  after(async () => {
    await api.stop();
    await database.drop();
  });

  const untilAllEvaluated = async (milliseconds: number): Promise<void> => {
    const deadline = performance.now() + milliseconds;
    for (;;) {
      const [row] = await database.query<{ open: number }>(
        `select (select count(*) from ingestion)::int - (select count(*) from evaluation)::int as open`,
      );
      if (row?.open === 0) return;
      if (performance.now() > deadline) throw new Error(`${row?.open} events are not evaluated`);
      await sleep(50);
    }
  };

  const attemptsOf = async (token: string): Promise<number> => {
    const [row] = await database.query<{ state: string }>(
      `select state from entity_state where site_id = $1 and entity_kind = 'card' and entity_key = $2::uuid`,
      [siteId, entityKey('card', token)],
    );
    return (JSON.parse(row?.state ?? '[]') as number[])[3] ?? 0;
  };

  it('an accepted event is PENDING until a worker takes it', async () => {
    const { body } = await caller.submit(eventOf());
    const status = await caller.ingestion(body.ingestion_id);
    expect(status.body).to.include({ evaluation_status: 'PENDING', risk: null });
  });

  it('happens once per event with three workers, one of them killed, and loses none of them', async () => {
    const token = `tok-${randomUUID()}`;
    const submitted = Array.from({ length: 400 }, (_, n) => caller.submit(cardEvent(token, n + 1)));
    expect((await Promise.all(submitted)).every(({ status }) => status === 202)).to.equal(true);
    const environment = {
      DATABASE_URL: database.appUrl,
      MIGRATION_DATABASE_URL: database.ownerUrl,
      ROLE: 'worker',
    };
    const workers = await Promise.all([spawnService(environment), spawnService(environment)]);
    const inProcess = await runService({ database, role: 'worker' });
    try {
      const [killed] = workers;
      const taken = async (): Promise<number> => {
        const [row] = await database.query<{ n: number }>(
          'select count(*)::int as n from evaluation',
        );
        return row?.n ?? 0;
      };
      while ((await taken()) === 0) await sleep(5);
      await killed?.kill();
      const started = performance.now();
      await untilAllEvaluated(30_000);
      expect(performance.now() - started, 'jobs of a dead worker run again').to.be.below(30_000);
      expect(await attemptsOf(token), 'each event counted once in the card history').to.equal(400);
      const [jobs] = await database.query<{ open: number; failed: number }>(
        `select count(*) filter (where state not in ('completed'))::int as open,
           (select count(*) from evaluation_attempt)::int as failed
         from pgboss.job where name = 'evaluate'`,
      );
      expect(jobs).to.deep.equal({ open: 0, failed: 0 });
    } finally {
      await inProcess.stop();
      for (const worker of workers) await worker.kill();
    }
  });

  it('runs the jobs of a dead worker again within 30 seconds, without costing them an attempt', async () => {
    const { body } = await caller.submit(eventOf());
    const boss = createBoss({
      url: database.appUrl,
      backend: 'postgres',
      applicationName: 'a worker that dies',
      supervise: false,
      migrate: false,
      onError: () => undefined,
    });
    await boss.start();
    expect(await boss.fetch(EVALUATE, { batchSize: 10 })).to.have.length(1);
    await boss.stop({ graceful: false });
    const claimed = performance.now();
    expect((await caller.ingestion(body.ingestion_id)).body.evaluation_status).to.equal(
      'PROCESSING',
    );
    const worker = await runService({ database, role: 'worker' });
    try {
      await untilAllEvaluated(35_000);
      expect(performance.now() - claimed).to.be.below(30_000);
      const failed = await database.query('select 1 from evaluation_attempt');
      expect(failed).to.deep.equal([]);
    } finally {
      await worker.stop();
    }
  });

  it('sees the earlier events of the same card: velocity shows in the reasons', async () => {
    const token = `tok-${randomUUID()}`;
    const worker = await runService({ database, role: 'worker' });
    try {
      const ids: string[] = [];
      for (let n = 0; n < 25; n += 1) {
        const second = String(n).padStart(2, '0');
        const at = `2026-03-02T10:00:${second}Z`;
        const answer = await caller.submit(
          eventOf({
            payment_method: { type: 'CARD', token },
            transaction: { occurred_at: at, amount_minor: 500 },
          }),
        );
        ids.push(answer.body.ingestion_id);
      }
      const last = await caller.evaluated(ids.at(-1)!);
      expect(last.body.risk.score).to.be.above(0);
      expect(last.body.risk.reasons.join(' ')).to.match(/card/i);
    } finally {
      await worker.stop();
    }
  });

  it('counts a label for the entities of its transaction in later events', async () => {
    const token = `tok-${randomUUID()}`;
    const worker = await runService({ database, role: 'worker' });
    try {
      const fraud = cardEvent(token);
      const { body } = await caller.submit(fraud);
      await caller.evaluated(body.ingestion_id);
      await caller.label(String(fraud['source_event_id']), { outcome_label: 'FRAUD_CONFIRMED' });
      const next = await caller.submit(cardEvent(token));
      const judged = await caller.evaluated(next.body.ingestion_id);
      expect(judged.body.risk.decision).not.to.equal('ALLOW');
      expect(judged.body.risk.reasons.join(' ')).to.match(/fraud/i);
    } finally {
      await worker.stop();
    }
  });

  describe('of an event that cannot be judged', () => {
    let worker: WholeService;

    before(async () => {
      worker = await spawnService({
        DATABASE_URL: database.appUrl,
        MIGRATION_DATABASE_URL: database.ownerUrl,
        EVALUATION_RETRY_LIMIT: '1',
        EVALUATION_RETRY_DELAY_SECONDS: '1',
        ROLE: 'worker',
      });
      await untilReady(worker);
    });

    after(() => worker.stop());

    it('fails alone, is retried, becomes a dead letter and runs again after a redrive', async () => {
      const token = `tok-${randomUUID()}`;
      await database.query(
        `insert into entity_state (site_id, entity_kind, entity_key, state, version) values ($1, 'card', $2::uuid, 'broken', 1)`,
        [siteId, entityKey('card', token)],
      );
      const answers = await Promise.all([
        caller.submit(eventOf()),
        caller.submit(cardEvent(token)),
        caller.submit(eventOf()),
      ]);
      const [before, culprit, behind] = answers.map(({ body }) => String(body.ingestion_id));
      await caller.evaluated(before!);
      await caller.evaluated(behind!);
      const seen = new Set<string>();
      const deadline = performance.now() + 40_000;
      while (!seen.has('DLQ')) {
        const { body } = await caller.ingestion(culprit!);
        seen.add(body.evaluation_status);
        expect(body.risk).to.equal(null);
        if (performance.now() > deadline) throw new Error(`seen only ${[...seen].join(', ')}`);
        await sleep(50);
      }
      expect([...seen]).to.include('RETRY_SCHEDULED');
      const attempts = await database.query(
        'select ingestion_id, attempt, error_class from evaluation_attempt order by attempt',
      );
      expect(
        attempts.map((row) => [`ing_${String(row['ingestion_id'])}`, row['attempt']]),
      ).to.deep.equal([
        [culprit, 1],
        [culprit, 2],
      ]);

      await database.query('delete from entity_state where entity_key = $1::uuid', [
        entityKey('card', token),
      ]);
      const redrive = await fetch(`${api.url}/admin/trpc/dead_letters.redrive`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ingestion_ids: [culprit], reason: 'the state was repaired' }),
      });
      expect(redrive.status, await redrive.clone().text()).to.equal(200);
      await caller.evaluated(culprit!, 20_000);
    });
  });
});
