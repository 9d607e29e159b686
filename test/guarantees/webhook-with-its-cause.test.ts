import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { WEBHOOK_BODIES, type WebhookEventType } from '../../contract/webhook.ts';
import { verifyWebhook } from '../../docs/examples/verify-webhook.ts';
import { adminCalls } from '../support/admin-calls.ts';
import { eventOf, merchant, type Merchant } from '../support/merchant.ts';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';
import type { TestSite } from '../support/site.ts';
import { startReceiver, type Received, type Receiver } from '../support/webhook-receiver.ts';

describe('a webhook event is written with its cause, or not at all', () => {
  let service: RunningService;
  let receiver: Receiver;
  let admin: ReturnType<typeof adminCalls>;

  before(async () => {
    receiver = await startReceiver();
    service = await runService({ environment: { WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' } });
    admin = adminCalls(service.url, ADMIN_TOKEN);
  });

  after(async () => {
    await service.stop();
    await receiver.close();
  });

  const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
    const deadline = performance.now() + 15_000;
    while (!(await holds())) {
      if (performance.now() > deadline) throw new Error(`never: ${what}`);
      await sleep(25);
    }
  };
  // oxlint-disable-next-line typescript/no-explicit-any -- bodies are looked into by each test
  const bodyOf = ({ body }: Received): any => JSON.parse(body.toString());
  const ofType = (type: WebhookEventType) =>
    receiver.received.map(bodyOf).filter((body) => body.event_type === type);
  const eventsOf = (site: TestSite) =>
    service.database.query<{ type: string; ingestion_id: string }>(
      `select type, ingestion_id from webhook_event where site_id = $1 and type <> 'webhook.challenge' order by id`,
      [site.siteId],
    );

  async function siteWithEndpoint(): Promise<{
    site: TestSite;
    caller: Merchant;
    secret: string;
  }> {
    const site = await service.createSite();
    const { endpoint_id: endpointId, signing_secret: secret } = await admin('webhooks.register', {
      site_code: site.code,
      url: receiver.url,
      event_types: ['transaction.evaluated', 'transaction.evaluation_failed', 'outcome.recorded'],
    });
    const pending = await admin('webhooks.activate', { endpoint_id: endpointId });
    expect(pending['state']).to.equal('PENDING');
    await until('the challenge activates', async () => {
      const [row] = await service.database.query<{ state: string }>(
        'select state from webhook_endpoint where id = $1',
        [endpointId],
      );
      return row?.state === 'ACTIVE';
    });
    const caller = merchant(service.url, (await site.issue()).apiKey);
    return { site, caller, secret: secret ?? '' };
  }

  it('a merchant hears of an evaluation and an outcome, signed, in the documented form, once each', async () => {
    const { site, caller, secret } = await siteWithEndpoint();
    const event = eventOf();
    const id = String(event['source_event_id']);
    const accepted = await caller.submit(event);
    const evaluated = await caller.evaluated(String(accepted.body.ingestion_id));
    for (let turn = 0; turn < 2; turn += 1) {
      // The second is a label that is there already: it causes no event.
      expect((await caller.label(id, { outcome_label: 'FRAUD_CONFIRMED' })).status).to.equal(202);
    }
    await until('both are delivered', () => ofType('outcome.recorded').length === 1);
    await until('both are delivered', () => ofType('transaction.evaluated').length === 1);
    for (const delivery of receiver.received) {
      const { headers, body: raw } = delivery;
      const body = bodyOf(delivery);
      const type = body.event_type as WebhookEventType;
      expect(WEBHOOK_BODIES[type].parse(body), type).to.deep.equal(body);
      expect(headers['x-service-event-id']).to.equal(body.event_id);
      expect(verifyWebhook(headers, raw, { current: secret }), type).to.equal(true);
      expect(
        verifyWebhook(headers, `${raw.toString()} `, { current: secret }),
        'another body',
      ).to.equal(false);
    }
    const which = { ingestion_id: accepted.body.ingestion_id, source_event_id: id };
    const [judged] = ofType('transaction.evaluated');
    expect(judged.data).to.deep.equal({ ...which, risk: evaluated.body.risk });
    const [labelled] = ofType('outcome.recorded');
    expect(labelled.data).to.deep.equal({ ...which, outcome_label: 'FRAUD_CONFIRMED' });
    expect(await eventsOf(site)).to.have.length(2);
  });

  it('neither is there when the event cannot be written, both are when it can', async () => {
    const { site, caller } = await siteWithEndpoint();
    await service.database.query(
      `create function break_webhooks() returns trigger language plpgsql as
         $$ begin raise exception 'broken' using errcode = '57014'; end $$`,
    );
    await service.database.query(
      'create trigger break_webhooks before insert on webhook_delivery for each row execute function break_webhooks()',
    );
    const event = eventOf();
    const accepted = await caller.submit(event);
    const key = `label-${accepted.body.ingestion_id}`;
    const label = () =>
      caller.label(
        String(event['source_event_id']),
        { outcome_label: 'CHARGEBACK_CONFIRMED' },
        key,
      );
    expect((await label()).status, 'like any outage of the database').to.equal(503);
    await sleep(600);
    const left = async () =>
      (
        await service.database.query<{ rows: number }>(
          `select (select count(*) from evaluation where site_id = $1)::int
             + (select count(*) from outcome_label where site_id = $1)::int as rows`,
          [site.siteId],
        )
      )[0]?.rows;
    expect(await left(), 'causes without their events').to.equal(0);
    expect(await eventsOf(site)).to.deep.equal([]);
    await service.database.query('drop trigger break_webhooks on webhook_delivery');
    await caller.evaluated(String(accepted.body.ingestion_id));
    expect((await label()).status).to.equal(202);
    expect(await left()).to.equal(2);
    expect((await eventsOf(site)).map(({ type }) => type).sort()).to.deep.equal([
      'outcome.recorded',
      'transaction.evaluated',
    ]);
  });

  it('a dead letter tells that the evaluation failed', async () => {
    const { site, caller } = await siteWithEndpoint();
    const event = eventOf();
    await service.database.query(
      `create function break_evaluation() returns trigger language plpgsql as
         $$ begin raise exception 'broken' using errcode = 'XX000'; end $$`,
    );
    await service.database.query(
      'create trigger break_evaluation before insert on evaluation for each row execute function break_evaluation()',
    );
    const accepted = await caller.submit(event);
    const id = String(accepted.body.ingestion_id).slice(4);
    // The last attempt that it has comes next, instead of after minutes of waiting.
    await service.database.query(
      `insert into evaluation_attempt (site_id, ingestion_id, attempt, error_class, error_place, failed_at)
       select $1, $2, n, 'Earlier', 'unknown', now() from generate_series(1000, 1005) as n`,
      [site.siteId, id],
    );
    await service.database.query(
      `update pgboss.job set start_after = now() where name = 'evaluate' and state = 'retry'`,
    );
    try {
      await until('the dead letter', async () => {
        await service.database.query(
          `update pgboss.job set start_after = now() where name = 'evaluate' and state = 'retry'`,
        );
        return (await eventsOf(site)).length === 1;
      });
    } finally {
      await service.database.query('drop trigger break_evaluation on evaluation');
    }
    await until('it is delivered', () => ofType('transaction.evaluation_failed').length === 1);
    expect(ofType('transaction.evaluation_failed')[0].data).to.deep.equal({
      ingestion_id: accepted.body.ingestion_id,
      source_event_id: event['source_event_id'],
      evaluation_status: 'DLQ',
    });
    expect((await caller.ingestion(`ing_${id}`)).body.evaluation_status).to.equal('DLQ');
  });

  it("a sandbox request causes none, and neither do another Site's events", async () => {
    const { site } = await siteWithEndpoint();
    const sandbox = merchant(service.url, (await site.issue({ environment: 'sandbox' })).apiKey);
    const neighbour = await service.createSite();
    const other = merchant(service.url, (await neighbour.issue()).apiKey);
    expect((await sandbox.submit(eventOf())).status).to.equal(200);
    const accepted = await other.submit(eventOf());
    await other.evaluated(String(accepted.body.ingestion_id));
    expect(await eventsOf(site)).to.deep.equal([]);
    expect(await eventsOf(neighbour), 'nobody listens there').to.deep.equal([]);
  });

  it('neither secret nor URL is in a log line, an audit row or a job', async () => {
    const { secret } = await siteWithEndpoint();
    const rows = await service.database.query<{ text: string }>(
      `select coalesce(string_agg(t::text, ' '), '') as text from (
         select a::text from audit_entry a union all select j::text from pgboss.job j
         union all select e::text from operator_event e) as t`,
    );
    const text = `${service.logLines.join('')}${rows[0]?.text}`;
    expect(text).to.include('webhooks.register');
    expect(text).to.not.include(secret);
    expect(text).to.not.include('from=test');
  });
});
