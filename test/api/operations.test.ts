import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { eventOf, merchant, type Answer, type Merchant } from '../support/merchant.ts';
import { runService, type RunningService } from '../support/running-service.ts';

describe('the five operations of /v1', () => {
  let service: RunningService;
  let production: Merchant;
  let sandbox: Merchant;

  before(async () => {
    service = await runService();
    const site = await service.createSite({ capacity: 50 });
    production = merchant(service.url, (await site.issue()).apiKey);
    sandbox = merchant(service.url, (await site.issue({ environment: 'sandbox' })).apiKey);
  });

  after(() => service.stop());

  const expectError = (answer: Answer, status: number, code: string): void => {
    expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
    expect(Object.keys(answer.body)).to.have.members(['request_id', 'error']);
    expect(answer.body.request_id).to.equal(answer.headers.get('x-request-id'));
    expect(answer.body.error.code).to.equal(code);
  };

  it('accepts an event, evaluates it and answers both look-ups', async () => {
    const event = eventOf();
    const accepted = await production.submit(event);
    expect(accepted.status, JSON.stringify(accepted.body)).to.equal(202);
    expect(accepted.body).to.include({
      status: 'ACCEPTED',
      schema_version: '1.0',
      processing_state: 'QUEUED',
      source_event_id: event['source_event_id'],
      request_id: accepted.headers.get('x-request-id'),
    });
    expect(accepted.body.ingestion_id).to.match(/^ing_[0-9]+$/);
    const evaluated = await production.evaluated(accepted.body.ingestion_id);
    expect(evaluated.body.risk).to.include.keys('score', 'level', 'decision', 'reasons');
    const risk = await production.risk(String(event['source_event_id']));
    expect(risk.status).to.equal(200);
    expect(Object.keys(risk.body)).to.have.members([
      'request_id',
      'ingestion_id',
      'source_event_id',
      'evaluation_status',
      'risk',
    ]);
    expect(risk.body.risk).to.deep.equal(evaluated.body.risk);
  });

  it('answers a repeat with the first acceptance and counts it once', async () => {
    const before = (await production.usage()).body.quota.accepted;
    const event = eventOf();
    const key = randomUUID();
    const first = await production.submit(event, key);
    const again = await production.submit(event, key);
    const underNewKey = await production.submit(event);
    for (const replay of [again, underNewKey]) {
      expect(replay.status).to.equal(202);
      expect(replay.headers.get('idempotent-replayed')).to.equal('true');
      expect({ ...replay.body, request_id: '' }).to.deep.equal({ ...first.body, request_id: '' });
    }
    expect(first.headers.get('idempotent-replayed')).to.equal(null);
    expect((await production.usage()).body.quota.accepted).to.equal(before + 1);
  });

  it('a replay with another amount is refused and writes nothing', async () => {
    const event = eventOf();
    const key = randomUUID();
    await production.submit(event, key);
    const changed = eventOf({
      source_event_id: event['source_event_id'],
      transaction: { amount_minor: 1 },
    });
    expectError(await production.submit(changed, key), 409, 'IDEMPOTENCY_CONFLICT');
    expectError(await production.submit(changed), 409, 'IDEMPOTENCY_CONFLICT');
    const rows = await service.database.query(
      'select amount_minor from ingestion where source_event_id = $1',
      [event['source_event_id']],
    );
    expect(rows).to.have.length(1);
  });

  it('every 202 binds its key: one that answered a replay cannot carry another event', async () => {
    const first = eventOf();
    await production.submit(first, `k1-${randomUUID()}`);
    const secondKey = `k2-${randomUUID()}`;
    expect((await production.submit(first, secondKey)).status).to.equal(202);
    expectError(await production.submit(eventOf(), secondKey), 409, 'IDEMPOTENCY_CONFLICT');
  });

  it('a tid becomes the id of the transaction, and the id it replaced answers 404', async () => {
    const tid = `tid-${randomUUID()}`;
    const event = eventOf({ transaction: { tid } });
    const accepted = await production.submit(event);
    expect(accepted.body.source_event_id).to.equal(tid);
    expect((await production.risk(tid)).status).to.equal(200);
    expectError(
      await production.risk(String(event['source_event_id'])),
      404,
      'TRANSACTION_NOT_FOUND',
    );
  });

  it('appends a label once, however often it is sent', async () => {
    const event = eventOf();
    const id = String(event['source_event_id']);
    const { body } = await production.submit(event);
    const key = randomUUID();
    const label = { outcome_label: 'FRAUD_CONFIRMED' };
    const first = await production.label(id, label, key);
    expect(first.status, JSON.stringify(first.body)).to.equal(202);
    expect(first.body).to.deep.equal({
      request_id: first.headers.get('x-request-id'),
      ingestion_id: body.ingestion_id,
      source_event_id: id,
      outcome_label: 'FRAUD_CONFIRMED',
      status: 'ACCEPTED',
    });
    const replay = await production.label(id, label, key);
    expect(replay.headers.get('idempotent-replayed')).to.equal('true');
    expect((await production.label(id, label)).status).to.equal(202);
    expectError(
      await production.label(id, { outcome_label: 'FALSE_POSITIVE' }, key),
      409,
      'IDEMPOTENCY_CONFLICT',
    );
    expectError(await production.label(`no-${id}`, label), 404, 'TRANSACTION_NOT_FOUND');
    const rows = await service.database.query(
      'select outcome_label from outcome_label where ingestion_id = $1',
      [String(body.ingestion_id).slice(4)],
    );
    expect(rows).to.deep.equal([{ outcome_label: 'FRAUD_CONFIRMED' }]);
  });

  it('the sandbox simulates, keeps nothing and knows no look-ups', async () => {
    const event = eventOf({ payment_method: { type: 'CARD', token: 'tok_sandbox_block' } });
    const answer = await sandbox.submit(event);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    expect(answer.body).to.include({
      environment: 'sandbox',
      status: 'SIMULATED',
      accepted: true,
      persistence: 'NONE',
      decision: 'BLOCK',
    });
    const stored = await service.database.query(
      'select 1 from ingestion where source_event_id = $1',
      [event['source_event_id']],
    );
    expect(stored).to.deep.equal([]);
    expect((await sandbox.usage()).body).to.deep.equal({
      environment: 'sandbox',
      persistence: 'NONE',
      quota: null,
    });
    expectError(await sandbox.ingestion('ing_1'), 404, 'INGESTION_NOT_FOUND');
    expectError(await sandbox.risk(String(event['source_event_id'])), 404, 'TRANSACTION_NOT_FOUND');
    expectError(
      await sandbox.label('some-event', { outcome_label: 'FALSE_POSITIVE' }),
      404,
      'TRANSACTION_NOT_FOUND',
    );
  });

  it('tells the usage of the month, and refuses past the quota with the time of the next', async () => {
    const site = await service.createSite({ capacity: 2 });
    const small = merchant(service.url, (await site.issue()).apiKey);
    const event = eventOf();
    const key = randomUUID();
    expect((await small.submit(event, key)).status).to.equal(202);
    expect((await small.submit(eventOf())).status).to.equal(202);
    const refused = await small.submit(eventOf());
    expectError(refused, 429, 'API_QUOTA_EXCEEDED');
    const seconds = Number(refused.headers.get('retry-after'));
    const now = new Date();
    const nextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    expect(seconds).to.be.within(
      (nextMonth - Date.now()) / 1000 - 5,
      (nextMonth - Date.now()) / 1000 + 1,
    );
    expect((await small.submit(event, key)).status, 'a replay costs nothing').to.equal(202);
    expect((await small.usage()).body).to.deep.equal({
      environment: 'production',
      quota: { period: now.toISOString().slice(0, 7), limit: 2, accepted: 2, remaining: 0 },
    });
  });

  it('refuses what breaks the contract by path, never by value', async () => {
    const event = eventOf({ transaction: { amount_minor: '1200-secret' }, extra_secret: 1 });
    const answer = await production.submit(event);
    expectError(answer, 400, 'CONTRACT_VALIDATION_FAILED');
    expect(answer.body.error.details).to.include.members([
      '<undeclared>: is not declared by the contract',
    ]);
    expect(JSON.stringify(answer.body))
      .to.include('transaction.amount_minor')
      .and.not.include('secret');
  });

  it('refuses forbidden data wherever it hides, and stores nothing of it', async () => {
    const event = eventOf({ order: { note: [{ text: 'paid with 4111 1111 1111 1111' }] } });
    const answer = await production.submit(event);
    expectError(answer, 400, 'CONTRACT_VALIDATION_FAILED');
    expect(JSON.stringify(answer.body)).not.to.include('1111 1111');
    expect(service.logLines.join('')).not.to.include('1111 1111');
  });

  it('refuses a bad, missing or foreign key with 401 and a missing permission with 403', async () => {
    expectError(await merchant(service.url).usage(), 401, 'UNAUTHORIZED');
    expectError(await merchant(service.url, 'trk_prod_x').usage(), 401, 'UNAUTHORIZED');
    const unknown = `trk_prod_${'a'.repeat(8)}_${'b'.repeat(43)}`;
    expectError(await merchant(service.url, unknown).usage(), 401, 'UNAUTHORIZED');
    const site = await service.createSite();
    const reader = merchant(service.url, (await site.issue({ permissions: ['read'] })).apiKey);
    expectError(await reader.submit(eventOf()), 403, 'FORBIDDEN');
    const idle = await service.createSite({ withContract: false });
    expectError(
      await merchant(service.url, (await idle.issue()).apiKey).usage(),
      401,
      'UNAUTHORIZED',
    );
  });

  it("answers another Site's ids exactly like missing ones", async () => {
    const event = eventOf();
    const { body } = await production.submit(event);
    const site = await service.createSite();
    const stranger = merchant(service.url, (await site.issue()).apiKey);
    expectError(await stranger.ingestion(body.ingestion_id), 404, 'INGESTION_NOT_FOUND');
    expectError(
      await stranger.risk(String(event['source_event_id'])),
      404,
      'TRANSACTION_NOT_FOUND',
    );
    expect((await stranger.submit(event)).headers.get('idempotent-replayed')).to.equal(null);
  });

  it('answers ids and paths that cannot be with 400, 404 and 405', async () => {
    expectError(await production.ingestion('ing_'), 400, 'CONTRACT_VALIDATION_FAILED');
    expectError(await production.ingestion('ing_99999999999999999999'), 404, 'INGESTION_NOT_FOUND');
    expectError(
      await production.call('GET', '/v1/transactions//risk'),
      400,
      'CONTRACT_VALIDATION_FAILED',
    );
    expectError(
      await production.call('GET', '/v1/transactions/%ff/risk'),
      400,
      'CONTRACT_VALIDATION_FAILED',
    );
    expectError(await production.risk('x'.repeat(121)), 400, 'CONTRACT_VALIDATION_FAILED');
    expectError(await production.call('GET', '/v1/nothing'), 404, 'NOT_FOUND');
    const wrong = await production.call('DELETE', '/v1/usage');
    expectError(wrong, 405, 'METHOD_NOT_ALLOWED');
    expect(wrong.headers.get('allow')).to.equal('GET, HEAD');
  });

  it('admits 120 requests a minute for one credential, and names the wait', async () => {
    const site = await service.createSite();
    const busy = merchant(service.url, (await site.issue()).apiKey);
    const answers = await Promise.all(Array.from({ length: 130 }, () => busy.usage()));
    expect(answers.filter(({ status }) => status === 200)).to.have.length(120);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).to.have.length(10);
    for (const answer of refused) {
      expectError(answer, 429, 'RATE_LIMITED');
      expect(Number(answer.headers.get('retry-after'))).to.be.within(1, 61);
      expect(answer.headers.get('ratelimit')).to.match(/^"credential";r=0;t=\d+$/);
    }
  });
});
