import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { enqueueEvaluations } from '../../jobs/enqueue.ts';
import { createBoss } from '../../jobs/queues.ts';
import { createIdSource } from '../../ledger/ids.ts';
import { importEvents } from '../../ledger/import-events.ts';
import { createPipelinedTransactions } from '../../ledger/transactions.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { pastEvent } from '../support/past.ts';
import { runService } from '../support/running-service.ts';
import { createSite, type TestSite } from '../support/site.ts';

describe('the backlog of one Site', () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase({ migrated: true });
  });
  after(() => database.drop());

  /** Ledger rows of a Site with their jobs, as accepted now, in groups like those of the ingest path. */
  const pileUp = async (site: TestSite, count: number): Promise<void> => {
    const { credentialId } = await site.issue();
    const pipelined = createPipelinedTransactions({
      url: database.appUrl,
      poolSize: 1,
      applicationName: 'test',
      statementTimeoutMs: 10_000,
    });
    const boss = createBoss({
      url: database.appUrl,
      backend: 'postgres',
      applicationName: 'test',
      supervise: false,
      migrate: false,
      onError: () => undefined,
    });
    await boss.start();
    const ids = createIdSource();
    const target = {
      siteId: BigInt(site.siteId),
      credentialId: BigInt(credentialId),
      defaultSubject: 'none',
    };
    for (let from = 0; from < count; from += 250) {
      const now = Date.now();
      const events = Array.from({ length: Math.min(250, count - from) }, (_, i) => ({
        event: pastEvent(`${site.code}-${from + i}`, now, {
          card: `card-${(from + i) % 97}`,
          merchant: `shop-${(from + i) % 7}`,
          amount: 100 + i,
        }),
      }));
      await pipelined.transaction(async (db) => {
        const { added } = await importEvents(db, ids, target, events);
        expect(await enqueueEvaluations(boss, db, added)).to.equal(added.length);
      });
    }
    await boss.stop({ graceful: false });
    await pipelined.close();
  };

  it('does not keep others waiting: what came behind it is judged long before its end, in its own order', async () => {
    const sites = {
      crowd: await createSite(database),
      smaller: await createSite(database),
      lone: await createSite(database),
    };
    await pileUp(sites.crowd, 4_000);
    await pileUp(sites.smaller, 1_200);
    await pileUp(sites.lone, 20);
    const worker = await runService({ database, role: 'worker' });
    for (;;) {
      const [row] = await database.query<{ left: string }>(
        `select count(*) as left from pgboss.job where name = 'evaluate'`,
      );
      if (row?.left === '0') break;
      await sleep(100);
    }
    await worker.stop();
    const [judged] = await database.query<Record<'all' | 'smaller' | 'lone', string>>(
      `with ranked as (
         select site_id, ingestion_id, rank() over (order by evaluated_at) as place,
           evaluated_at < lag(evaluated_at) over (partition by site_id order by ingestion_id) as is_overtaken
         from evaluation
       )
       select count(*) as all, avg(place) filter (where site_id = $1) as smaller,
         max(place) filter (where site_id = $2) as lone
       from ranked where not coalesce(is_overtaken, false)`,
      [sites.smaller.siteId, sites.lone.siteId],
    );
    expect(Number(judged?.all)).to.equal(5_220);
    expect(Number(judged?.lone)).to.be.lessThan(2_000);
    // First come, first served would have them all behind the 4,000 of the crowd, 4,600 on average.
    expect(Number(judged?.smaller)).to.be.lessThan(4_000);
  }).timeout(60_000);
});
