import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventOf, merchant, type Answer } from '../support/merchant.ts';
import { runService, type RunningService } from '../support/running-service.ts';

describe('the monthly quota', () => {
  let service: RunningService;
  let now = Date.UTC(2026, 1, 28, 23, 59, 58);

  before(async () => {
    service = await runService({ role: 'api', clock: { now: () => now } });
  });

  after(() => service.stop());

  const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status);

  it('begins anew at the edge of the UTC month, and a refusal names exactly the seconds until then', async () => {
    now = Date.UTC(2026, 1, 28, 23, 59, 58);
    const site = await service.createSite({ capacity: 2 });
    const caller = merchant(service.url, (await site.issue()).apiKey);
    const key = randomUUID();
    const event = eventOf();
    expect(
      statuses([await caller.submit(event, key), await caller.submit(eventOf())]),
    ).to.deep.equal([202, 202]);
    const refused = await caller.submit(eventOf());
    expect(refused.status).to.equal(429);
    expect(refused.body.error.code).to.equal('API_QUOTA_EXCEEDED');
    expect(refused.headers.get('retry-after')).to.equal('2');
    expect((await caller.usage()).body.quota).to.deep.equal({
      period: '2026-02',
      limit: 2,
      accepted: 2,
      remaining: 0,
    });
    now = Date.UTC(2026, 2, 1, 0, 0, 0);
    expect((await caller.usage()).body.quota).to.deep.equal({
      period: '2026-03',
      limit: 2,
      accepted: 0,
      remaining: 2,
    });
    expect((await caller.submit(event, key)).headers.get('idempotent-replayed')).to.equal('true');
    const many = await Promise.all(Array.from({ length: 9 }, () => caller.submit(eventOf())));
    expect(many.filter(({ status }) => status === 202)).to.have.length(2);
  });

  it('counts an event for the month of its acceptance, also when a group spans the edge', async () => {
    const site = await service.createSite({ capacity: 100 });
    const caller = merchant(service.url, (await site.issue()).apiKey);
    const edge = Date.UTC(2026, 3, 1);
    now = edge - 1;
    const before = Array.from({ length: 10 }, () => caller.submit(eventOf()));
    await sleep(2);
    now = edge;
    const after = Array.from({ length: 10 }, () => caller.submit(eventOf()));
    const accepted = (await Promise.all([...before, ...after])).map(({ body }) =>
      String(body.received_at).slice(0, 7),
    );
    const months = await service.database.query<{ month: string; accepted: string }>(
      'select month, accepted from usage_counter where site_id = $1 order by month',
      [site.siteId],
    );
    expect(months.map((row) => [row.month, Number(row.accepted)])).to.deep.equal(
      ['2026-03', '2026-04']
        .map((month) => [month, accepted.filter((each) => each === month).length] as const)
        .filter(([, count]) => count > 0)
        .map(([month, count]) => [month, count]),
    );
  });

  it('follows a change of the contract at once, and capacity 0 leaves look-ups and labels alone', async () => {
    now = Date.UTC(2026, 5, 15);
    const site = await service.createSite({ capacity: 1 });
    const caller = merchant(service.url, (await site.issue()).apiKey);
    const event = eventOf();
    const { body } = await caller.submit(event);
    expect((await caller.submit(eventOf())).status).to.equal(429);
    await service.database.query('update contract set capacity_limit = 2 where site_id = $1', [
      site.siteId,
    ]);
    expect((await caller.submit(eventOf())).status).to.equal(202);
    await service.database.query('update contract set capacity_limit = 0 where site_id = $1', [
      site.siteId,
    ]);
    expect((await caller.submit(eventOf())).body.error.code).to.equal('API_QUOTA_EXCEEDED');
    expect((await caller.usage()).body.quota).to.include({ limit: 0, accepted: 2, remaining: 0 });
    expect((await caller.ingestion(body.ingestion_id)).status).to.equal(200);
    const label = await caller.label(String(event['source_event_id']), {
      outcome_label: 'FALSE_POSITIVE',
    });
    expect(label.status).to.equal(202);
  });

  it('ends with the contract to the second, and authentication with it', async () => {
    now = Date.UTC(2026, 6, 1);
    const site = await service.createSite();
    const caller = merchant(service.url, (await site.issue()).apiKey);
    await service.database.query(
      `update contract set starts_at = '2026-07-01T00:00:00Z', ends_at = '2026-07-01T00:00:05Z' where site_id = $1`,
      [site.siteId],
    );
    // Longer than any process may take to notice a change.
    await sleep(1_100);
    expect((await caller.submit(eventOf())).status).to.equal(202);
    now = Date.UTC(2026, 6, 1, 0, 0, 4, 999);
    expect((await caller.submit(eventOf())).status).to.equal(202);
    now = Date.UTC(2026, 6, 1, 0, 0, 5);
    expect((await caller.submit(eventOf())).status).to.equal(401);
    now = Date.UTC(2026, 5, 30, 23, 59, 59, 999);
    expect((await caller.usage()).status).to.equal(401);
  });
});

describe('the rate limit', () => {
  let service: RunningService;

  before(async () => {
    service = await runService({ role: 'api' });
  });

  after(() => service.stop());

  /** Fills a credential's window as if its requests had come that many seconds ago. */
  const fill = async (
    credentialId: string,
    requests: readonly [secondsAgo: number, count: number][],
  ): Promise<void> => {
    await service.database.query(
      `insert into rate_window (credential_id, buckets, granted)
       select $1, array_agg((extract(epoch from clock_timestamp())::bigint - ago) * 1000 + count order by ago desc), 0
       from unnest($2::int[], $3::int[]) as request (ago, count)
       on conflict (credential_id) do update set buckets = excluded.buckets, granted = 0`,
      [credentialId, requests.map(([ago]) => ago), requests.map(([, count]) => count)],
    );
  };

  it('admits again after exactly the seconds that Retry-After names, every time', async () => {
    const site = await service.createSite();
    await Promise.all(
      Array.from({ length: 12 }, async (_, n) => {
        const { credentialId, apiKey } = await site.issue();
        const caller = merchant(service.url, apiKey);
        // Spread over the second, so that edges of buckets are met at any phase.
        await sleep(n * 83);
        await fill(credentialId, [
          [58, 60],
          [20, 60],
        ]);
        const refused = await caller.usage();
        expect(refused.status).to.equal(429);
        const seconds = Number(refused.headers.get('retry-after'));
        expect(seconds).to.be.within(1, 4);
        expect(refused.headers.get('ratelimit')).to.equal(`"credential";r=0;t=${seconds}`);
        await sleep(seconds * 1_000);
        const admitted = await caller.usage();
        expect(admitted.status, `after ${seconds} s`).to.equal(200);
        expect(admitted.headers.get('ratelimit')).to.match(/^"credential";r=59;t=0$/);
      }),
    );
  });

  it('counts what lies in the last 60 seconds and nothing older', async () => {
    const site = await service.createSite();
    const { credentialId, apiKey } = await site.issue();
    const caller = merchant(service.url, apiKey);
    await fill(credentialId, [
      [70, 120],
      [62, 120],
    ]);
    expect((await caller.usage()).headers.get('ratelimit')).to.equal('"credential";r=119;t=0');
    await fill(credentialId, [[59, 119]]);
    const last = await caller.usage();
    expect(last.status).to.equal(200);
    expect(last.headers.get('ratelimit')).to.match(/^"credential";r=0;t=[1-3]$/);
    expect((await caller.usage()).status).to.equal(429);
  });

  it('a refused request costs nothing: however many are refused, the wait does not grow', async () => {
    const site = await service.createSite();
    const { credentialId, apiKey } = await site.issue();
    const caller = merchant(service.url, apiKey);
    await fill(credentialId, [[30, 120]]);
    const first = Number((await caller.usage()).headers.get('retry-after'));
    const refused = await Promise.all(Array.from({ length: 200 }, () => caller.usage()));
    expect(new Set(refused.map(({ status }) => status))).to.deep.equal(new Set([429]));
    const waits = refused.map(({ headers }) => Number(headers.get('retry-after')));
    expect(Math.max(...waits)).to.be.at.most(first);
  });
});
