import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { eventOf, merchant, type Answer } from '../support/merchant.ts';
import { runService, type RunningService } from '../support/running-service.ts';
import { spawnService, untilReady, type WholeService } from '../support/whole-service.ts';

describe('an event is accepted once, whoever races', () => {
  let first: RunningService;
  let second: WholeService;

  before(async () => {
    first = await runService({ role: 'api' });
    second = await spawnService({
      DATABASE_URL: first.database.appUrl,
      MIGRATION_DATABASE_URL: first.database.ownerUrl,
      ROLE: 'api',
    });
    await untilReady(second);
  });

  after(async () => {
    await second.stop();
    await first.stop();
  });

  const tally = (answers: readonly Answer[]): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  };

  it('fifty equal calls over two processes get one ingestion, and forty-nine are replays', async () => {
    const site = await first.createSite();
    const { apiKey } = await site.issue();
    const callers = [merchant(first.url, apiKey), merchant(second.url, apiKey)];
    const event = eventOf();
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => callers[n % 2]!.submit(event, key)),
    );
    expect(tally(answers)).to.deep.equal({ 202: 50 });
    expect(new Set(answers.map(({ body }) => body.ingestion_id)).size).to.equal(1);
    const firsts = answers.filter(({ headers }) => headers.get('idempotent-replayed') === null);
    expect(firsts).to.have.length(1);
    expect((await callers[0]!.usage()).body.quota.accepted).to.equal(1);
  });

  it('fifty calls with one key and fifty payloads: one is accepted, the others conflict', async () => {
    const site = await first.createSite();
    const { apiKey } = await site.issue();
    const callers = [merchant(first.url, apiKey), merchant(second.url, apiKey)];
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => callers[n % 2]!.submit(eventOf(), key)),
    );
    expect(tally(answers)).to.deep.equal({ 202: 1, 409: 49 });
    expect((await callers[1]!.usage()).body.quota.accepted).to.equal(1);
  });

  it('fifty keys with one event id and fifty amounts: one is accepted, the others conflict', async () => {
    const site = await first.createSite();
    const { apiKey } = await site.issue();
    const callers = [merchant(first.url, apiKey), merchant(second.url, apiKey)];
    const id = `evt-${randomUUID()}`;
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        callers[n % 2]!.submit(eventOf({ source_event_id: id, transaction: { amount_minor: n } })),
      ),
    );
    expect(tally(answers)).to.deep.equal({ 202: 1, 409: 49 });
  });

  it('the last unit of quota goes to exactly one of many over two processes', async () => {
    const site = await first.createSite({ capacity: 7 });
    const { apiKey } = await site.issue();
    const callers = [merchant(first.url, apiKey), merchant(second.url, apiKey)];
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => callers[n % 2]!.submit(eventOf())),
    );
    expect(tally(answers)).to.deep.equal({ 202: 7, 429: 53 });
    const rows = await first.database.query('select 1 from ingestion where site_id = $1', [
      site.siteId,
    ]);
    expect(rows).to.have.length(7);
    expect((await callers[0]!.usage()).body.quota).to.include({ accepted: 7, remaining: 0 });
  });

  it('120 requests a minute hold over two processes together', async () => {
    const site = await first.createSite();
    const { apiKey } = await site.issue();
    const callers = [merchant(first.url, apiKey), merchant(second.url, apiKey)];
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => callers[n % 2]!.usage()),
    );
    expect(tally(answers)).to.deep.equal({ 200: 120, 429: 80 });
  });

  it('a retry under a rotated key of the Site is still a retry', async () => {
    const site = await first.createSite();
    const before = merchant(first.url, (await site.issue()).apiKey);
    const after = merchant(second.url, (await site.issue()).apiKey);
    const event = eventOf();
    const key = randomUUID();
    const accepted = await before.submit(event, key);
    const replay = await after.submit(event, key);
    expect(replay.headers.get('idempotent-replayed')).to.equal('true');
    expect(replay.body.ingestion_id).to.equal(accepted.body.ingestion_id);
  });

  it('every accepted event has exactly one evaluation job', async () => {
    const [counts] = await first.database.query(
      `select (select count(*) from ingestion)::int as rows, (select count(*) from ingestion_payload)::int as payloads,
         (select count(*) from pgboss.job where name = 'evaluate')::int as jobs,
         (select sum(accepted) from usage_counter)::int as usage`,
    );
    expect(counts?.['jobs']).to.equal(counts?.['rows']);
    expect(counts?.['payloads']).to.equal(counts?.['rows']);
    expect(counts?.['usage']).to.equal(counts?.['rows']);
  });
});
