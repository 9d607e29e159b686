import { expect } from 'chai';
import { failureKind } from '../../ledger/failures.ts';
import { shareBeside } from '../../server/evaluation.ts';
import { EvaluationThread, type ThreadOptions } from '../../server/evaluation-thread.ts';
import { LaneThread } from '../../server/lane-thread.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventOf, merchant } from '../support/merchant.ts';
import { freePort } from '../support/whole-service.ts';
import { runService, type RunningService } from '../support/running-service.ts';

describe('the evaluation thread', () => {
  let database: TestDatabase;
  let api: RunningService;

  before(async () => {
    database = await createTestDatabase();
    api = await runService({ database, role: 'api' });
  });

  after(async () => {
    await api.stop();
    await database.drop();
  });

  const threadOn = (
    appUrl: string,
    judged: ThreadOptions['report']['judged'],
    threads = 1,
  ): EvaluationThread =>
    new EvaluationThread({
      appUrl,
      backend: 'postgres',
      retryLimit: 1,
      threads,
      share: () => 1,
      report: { judged, failed: () => undefined },
      onFault: ({ errorClass, errorPlace }) => {
        throw new Error(`fault in the thread: ${errorClass} at ${errorPlace}`);
      },
    });

  it('judges what waits, tells which Site it was and how long it took, and ends when asked', async () => {
    const site = await api.createSite();
    const caller = merchant(api.url, (await site.issue()).apiKey);
    const accepted = await Promise.all(Array.from({ length: 20 }, () => caller.submit(eventOf())));
    const seen: { siteId: bigint; receivedAt: number }[] = [];
    let done = (): void => undefined;
    const all = new Promise<void>((resolve) => (done = resolve));
    const thread = threadOn(database.appUrl, (rows) => {
      seen.push(...rows);
      if (seen.length === accepted.length) done();
    });
    await thread.start();
    thread.wake();
    await all;
    expect(new Set(seen.map(({ siteId }) => String(siteId)))).to.deep.equal(new Set([site.siteId]));
    expect(seen.map(({ receivedAt }) => new Date(receivedAt).toISOString())).to.have.members(
      accepted.map(({ body }) => body.received_at as string),
    );
    const status = await caller.ingestion(String(accepted[0]?.body.ingestion_id));
    expect(status.body.evaluation_status).to.equal('SUCCEEDED');
    await thread.stop();
  });

  it('shares the Sites out between several threads, each event judged once, none of its history lost', async () => {
    const perSite = 40;
    const sites = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const site = await api.createSite();
        return { ...site, caller: merchant(api.url, (await site.issue()).apiKey) };
      }),
    );
    const waiting = sites.map(async ({ caller, siteId }) => {
      for (let n = 0; n < perSite; n += 1) {
        const { status } = await caller.submit(
          eventOf({
            source_event_id: `lane-${siteId}-${n}`,
            payment_method: { type: 'CARD', token: 'card-of-lanes' },
          }),
        );
        expect(status).to.equal(202);
      }
    });
    await Promise.all(waiting);
    const judged: bigint[] = [];
    let done = (): void => undefined;
    const all = new Promise<void>((resolve) => (done = resolve));
    const thread = threadOn(
      database.appUrl,
      (rows) => {
        judged.push(...rows.map(({ siteId }) => siteId));
        if (judged.length === perSite * sites.length) done();
      },
      3,
    );
    await thread.start();
    await all;
    await thread.stop();
    for (const { siteId } of sites) {
      expect(judged.filter((each) => String(each) === siteId)).to.have.length(perSite);
      const [card] = await database.query<{ version: number; attempts: number }>(
        `select version::int, (state::jsonb ->> 3)::int as attempts from entity_state
         where site_id = $1 and entity_kind = 'card'`,
        [siteId],
      );
      expect(card?.attempts).to.equal(perSite);
    }
    const holders = await database.query<{ holder: string }>(
      'select distinct holder from evaluation_turn where site_id = any ($1::bigint[])',
      [sites.map(({ siteId }) => siteId)],
    );
    expect(holders.length, 'threads that judged').to.equal(3);
  });

  it('tells when a lane of another thread is lost, and settles nothing by it', async () => {
    const { promise: lost, resolve } = Promise.withResolvers<void>();
    const lane = new LaneThread(
      {
        appUrl: database.appUrl,
        backend: 'postgres',
        retryLimit: 1,
        threads: 1,
        share: new SharedArrayBuffer(4),
      },
      () => undefined,
      resolve,
    );
    await lane.start();
    let settled = false;
    // Nothing that a worker would hand over: it brings the thread down.
    void lane.settle(undefined as never).then(() => (settled = true));
    await lost;
    expect(settled).to.equal(false);
  });

  it('says that the database is away, without its password', async () => {
    const away = new URL(database.appUrl);
    away.port = String(await freePort());
    const thread = threadOn(away.href, () => undefined);
    const error: unknown = await thread.start().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(failureKind(error)).to.equal('unavailable');
    expect(String(error)).not.to.include(away.password);
    await thread.stop();
  });

  it('may take all of the time until more requests wait than the next group holds', () => {
    expect([0, 256, 257, 1_024].map(shareBeside)).to.deep.equal([1, 1, 0.25, 0.25]);
  });
});
