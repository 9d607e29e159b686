import { expect } from 'chai';
import { failureKind } from '../../ledger/failures.ts';
import { shareBeside } from '../../server/evaluation.ts';
import { EvaluationThread, type ThreadOptions } from '../../server/evaluation-thread.ts';
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

  const threadOn = (appUrl: string, judged: ThreadOptions['report']['judged']): EvaluationThread =>
    new EvaluationThread({
      appUrl,
      backend: 'postgres',
      retryLimit: 1,
      share: () => 1,
      report: { judged, failed: () => undefined },
      onFault: ({ errorClass, errorPlace }) => {
        throw new Error(`fault in the thread: ${errorClass} at ${errorPlace}`);
      },
    });

  it('judges what waits, tells which Site it was and how long it took, and ends when asked', async function () {
    this.timeout(40_000);
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

  it('says that the database is away, without its password', async function () {
    this.timeout(40_000);
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
