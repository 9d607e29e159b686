import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { adminCalls } from '../support/admin-calls.ts';
import { eventOf, merchant, type Answer, type Merchant } from '../support/merchant.ts';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';
import { everyRow, findTraces } from '../support/traces.ts';
import { startReceiver, type Receiver } from '../support/webhook-receiver.ts';

describe('what was accepted never comes back', () => {
  const mark = randomUUID().slice(0, 8);
  const AMOUNT = 739_184_629;
  /** Values of every kind of place that a payload has. */
  const PAYLOAD = {
    source_system: `system-${mark}`,
    correlation_id: `correlation-${mark}`,
    merchant_external_id: `merchant-${mark}`,
    transaction: {
      original_event_id: `original-${mark}`,
      amount_minor: AMOUNT,
      auth_no_token: `auth-${mark}`,
      response_code: `response-${mark}`,
      reason_code: `reason-${mark}`,
      business_type: `business-${mark}`,
    },
    payment_method: {
      type: `type-${mark}`,
      token: `tok-${mark}`,
      bin: '453914',
      note: `pm-${mark}`,
    },
    order: {
      note: `order-${mark}`,
      [`key-${mark}`]: [{ deep: `deep-${mark}` }],
      total: 739184.629,
    },
    customer: { customer_id: `customer-${mark}`, name: `김-${mark}`, account_age_days: 7391 },
    device: { device_id: `device-${mark}` },
    session: { id: `session-${mark}` },
    network: { ip_prefix: '203.0.113.0/24', country: 'KR' },
    velocity: { v: `velocity-${mark}` },
  };
  const MARKS = [mark, String(AMOUNT), '739184.629', '453914', '203.0.113.0'];

  let service: RunningService;
  let caller: Merchant;
  const answers: Answer[] = [];

  let receiver: Receiver;

  before(async () => {
    service = await runService({ environment: { WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true' } });
    const site = await service.createSite();
    caller = merchant(service.url, (await site.issue()).apiKey);
    receiver = await startReceiver();
    const admin = adminCalls(service.url, ADMIN_TOKEN);
    const { endpoint_id: endpointId } = await admin('webhooks.register', {
      site_code: site.code,
      url: receiver.url,
      event_types: ['transaction.evaluated', 'outcome.recorded'],
    });
    await admin('webhooks.activate', { endpoint_id: endpointId });
    await untilDelivered(1, 'the challenge');
  });

  after(async () => {
    await service.stop();
    await receiver.close();
  });

  /** Also waits until what the answer brings about is written. */
  async function untilDelivered(count: number, what: string): Promise<void> {
    const deadline = performance.now() + 15_000;
    const settled = `select 1 from webhook_delivery where state = 'DELIVERED'`;
    while ((await service.database.query(settled)).length < count) {
      if (performance.now() > deadline) throw new Error(`never delivered: ${what}`);
      await sleep(50);
    }
  }

  it('not in an answer: accepted, replayed, refused, evaluated, labelled', async () => {
    const events = Array.from({ length: 6 }, () => eventOf(PAYLOAD));
    const key = randomUUID();
    for (const [index, event] of events.entries()) {
      const accepted = await caller.submit(event, index === 0 ? key : undefined);
      expect(accepted.status, JSON.stringify(accepted.body)).to.equal(202);
      answers.push(accepted, await caller.evaluated(String(accepted.body.ingestion_id)));
    }
    const [event = {}] = events;
    const id = String(event['source_event_id']);
    answers.push(
      await caller.submit(event, key),
      await caller.submit({ ...event, source_system: `other-${mark}` }, key),
      await caller.submit({ ...event, [`undeclared-${mark}`]: mark }),
      await caller.submit({ ...event, event_type: mark, schema_version: mark, occurred_at: mark }),
      await caller.submit({
        ...event,
        transaction: { [mark]: mark, currency: mark, amount_minor: mark },
      }),
      await caller.submit({
        ...event,
        order: JSON.parse(`{"${mark}":{"__proto__":"${mark}"}}`) as unknown,
      }),
      await caller.submit(`{"${mark}": ${mark}`),
      await caller.risk(id),
      await caller.label(id, { outcome_label: 'FRAUD_CONFIRMED' }),
      await caller.label(id, { outcome_label: mark, [mark]: mark }),
      await caller.submit(eventOf(PAYLOAD)),
      await caller.usage(),
    );
    const after = await caller.submit(eventOf(PAYLOAD));
    answers.push(after, await caller.evaluated(String(after.body.ingestion_id)));
    expect(answers.at(-1)?.body.risk.reasons, 'history gives reasons').to.not.deep.equal([]);
    const text = answers
      .map(({ headers, body }) => JSON.stringify([[...headers], body]))
      .join('\n');
    expect(findTraces(new Map([['answers', text]]), MARKS)).to.deep.equal([]);
  });

  it('not in a webhook', async () => {
    // The challenge, six evaluations, one label, and two more evaluations.
    await untilDelivered(10, 'all events');
    const sent = receiver.received
      .map(({ headers, body }) => `${JSON.stringify(headers)} ${body.toString()}`)
      .join('\n');
    expect(sent).to.include('transaction.evaluated');
    expect(sent).to.include('outcome.recorded');
    expect(findTraces(new Map([['webhooks', sent]]), MARKS)).to.deep.equal([]);
  });

  it('not in logs, metrics, queues or any table but those that keep the event', async () => {
    const metrics = await fetch(`${service.url}/metrics`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    const rows = await everyRow(service.database);
    const payloads = rows.get('ingestion_payload') ?? '';
    expect(findTraces(new Map([['here', payloads]]), MARKS), 'the search works').to.have.length(
      MARKS.length,
    );
    // The ledger keeps amount and ids; what features are made of keeps amounts and entities, which are never returned.
    for (const keeper of [
      'ingestion_payload',
      'ingestion',
      'entity_state',
      'evaluation_features',
    ]) {
      rows.delete(keeper);
    }
    const texts = new Map([
      ...rows,
      ['log', service.logLines.join('')],
      ['metrics', await metrics.text()],
    ]);
    expect(texts.has('pgboss.job')).to.equal(true);
    expect(findTraces(texts, MARKS)).to.deep.equal([]);
  });

  it('not in a job that waits', async () => {
    const api = await runService({ role: 'api' });
    try {
      const submitter = merchant(api.url, (await (await api.createSite()).issue()).apiKey);
      const accepted = await submitter.submit(eventOf(PAYLOAD));
      expect(accepted.status).to.equal(202);
      const jobs = (await everyRow(api.database)).get('pgboss.job') ?? '';
      expect(jobs).to.include('evaluate');
      expect(findTraces(new Map([['pgboss.job', jobs]]), MARKS)).to.deep.equal([]);
    } finally {
      await api.stop();
    }
  });
});
