import { connect } from 'node:net';
import { expect } from 'chai';
import { OPERATOR_EVENT_KINDS } from '../../ledger/operator-event-kinds.ts';
import { eventOf, merchant } from '../support/merchant.ts';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';

describe('/metrics', () => {
  let service: RunningService;

  before(async () => {
    service = await runService();
  });

  after(() => service.stop());

  const read = (token?: string, method = 'GET'): Promise<Response> =>
    fetch(`${service.url}/metrics`, {
      method,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });

  /** The value of a sample, 0 where it was never counted. */
  const value = (text: string, sample: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${sample} `))
        ?.split(' ')[1] ?? 0,
    );

  it('is for operators only', async () => {
    expect((await read()).status).to.equal(401);
    expect((await read('x'.repeat(43))).status).to.equal(401);
    const wrong = await read(ADMIN_TOKEN, 'POST');
    expect([wrong.status, wrong.headers.get('allow')]).to.deep.equal([405, 'GET']);
    const right = await read(ADMIN_TOKEN);
    expect(right.status).to.equal(200);
    expect(right.headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/);
  });

  it('counts what happened, and names no Site, key or id in doing so', async () => {
    const site = await service.createSite({ code: 'site-canary' });
    const { apiKey } = await site.issue();
    const caller = merchant(service.url, apiKey);
    const event = eventOf();
    const { body } = await caller.submit(event);
    await caller.evaluated(body.ingestion_id);
    await caller.submit(eventOf({ schema_version: '2.0' }));
    await merchant(service.url, 'nobody').usage();
    await new Promise<void>((resolve) => {
      const socket = connect(service.port, '127.0.0.1', () =>
        socket.write('no HTTP at all\r\n\r\n'),
      );
      socket.on('close', () => resolve()).resume();
    });
    const text = await (await read(ADMIN_TOKEN)).text();
    const requests = 'transaction_risk_requests_total';
    expect(value(text, `${requests}{operation="submitTransaction",status="202"}`)).to.equal(1);
    expect(value(text, `${requests}{operation="submitTransaction",status="400"}`)).to.equal(1);
    expect(value(text, `${requests}{operation="getApiUsage",status="401"}`)).to.equal(1);
    expect(value(text, 'transaction_risk_refusals_total{reason="unauthorized"}')).to.equal(1);
    expect(value(text, 'transaction_risk_refusals_total{reason="parser"}')).to.equal(1);
    expect(value(text, 'transaction_risk_evaluations_total{outcome="succeeded"}')).to.equal(1);
    expect(value(text, 'transaction_risk_accept_to_result_seconds_count')).to.equal(1);
    expect(value(text, 'transaction_risk_group_rows_sum')).to.equal(1);
    // The body as it is stored, and about a kilobyte of overhead that is set aside for each.
    expect(value(text, 'transaction_risk_group_bytes_sum')).to.be.within(1_200, 3_000);
    expect(text).to.include('transaction_risk_queue_rows 0');
    // The scrape itself may be using the only one, so which of the two is left to the moment.
    const connections = 'transaction_risk_pool_connections';
    expect(
      value(text, `${connections}{pool="requests",state="idle"}`) +
        value(text, `${connections}{pool="requests",state="used"}`),
    ).to.be.greaterThan(0);
    expect(text).to.include('transaction_risk_nodejs_eventloop_lag_seconds ');
    expect(value(text, 'transaction_risk_database_up')).to.equal(1);
    expect(value(text, 'transaction_risk_dead_letters_open')).to.equal(0);
    expect(value(text, 'transaction_risk_job_oldest_seconds{queue="evaluate"}')).to.be.lessThan(60);
    expect(text).to.match(/transaction_risk_jobs\{queue="evaluate",state="ready"\} \d/);
    expect(text).to.include('transaction_risk_body_bytes 0');
    for (const secret of [
      'site-canary',
      apiKey,
      apiKey.slice(9, 17),
      event['source_event_id'],
      body.ingestion_id,
    ]) {
      expect(text).not.to.include(secret);
    }
  });

  it('says how much waits and since when, and counts a refused quota', async () => {
    const small = await service.createSite({ capacity: 1 });
    const shop = merchant(service.url, (await small.issue()).apiKey);
    await shop.submit(eventOf());
    expect((await shop.submit(eventOf())).status).to.equal(429);
    await service.database.query(
      `insert into open_dead_letter (site_id, ingestion_id, dead_letter_id, cause, attempts, dead_at)
       values (1, 1, 1, 'RangeError', 6, now() - interval '1 hour'), (1, 2, 2, 'RangeError', 6, now())`,
    );
    await service.database.query(
      `insert into pgboss.job (name, data, created_on, start_after)
       values ('evaluate_dead', '{}', now() - interval '3 hours', now() - interval '2 hours'),
         ('evaluate_dead', '{}', now() - interval '9 hours', now() + interval '1 hour')`,
    );
    // A look at the database is shared by the scrapes of a second.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const text = await (await read(ADMIN_TOKEN)).text();
    expect(value(text, 'transaction_risk_refusals_total{reason="quota"}')).to.equal(1);
    expect(value(text, 'transaction_risk_dead_letters_open')).to.equal(2);
    expect(value(text, 'transaction_risk_dead_letter_oldest_seconds')).to.be.within(3_590, 3_700);
    const oldest = value(text, 'transaction_risk_job_oldest_seconds{queue="evaluate_dead"}');
    expect(oldest, 'since it could have run').to.be.within(7_190, 7_300);
  });

  it('counts what operators were told of in the last hour by kind, and kinds nobody was told of as 0', async () => {
    const tell = (kind: string, count: number, age: string): Promise<unknown> =>
      service.database.query(
        `insert into operator_event (site_id, kind, subject, detail, at)
         select 1, $1, 'site-canary', '{}', now() - $3::interval from generate_series(1, $2)`,
        [kind, count, age],
      );
    await tell('rule_capped', 2, '2 hours');
    await tell('rule_capped', 3, '59 minutes');
    await tell('model_unusable', 150, '1 minute');
    await tell('rules_unusable', 1, '61 minutes');
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const text = await (await read(ADMIN_TOKEN)).text();
    const told = (kind: string): number | undefined => {
      const sample = `transaction_risk_operator_events{kind="${kind}"}`;
      return text.includes(sample) ? value(text, sample) : undefined;
    };
    expect(told('rule_capped')).to.equal(3);
    expect(told('rules_unusable')).to.equal(0);
    expect(told('model_unusable'), 'no more are counted').to.equal(100);
    expect(told('gate_failed')).to.equal(0);
    expect(text.match(/^transaction_risk_operator_events\{/gm)).to.have.length(
      Object.keys(OPERATOR_EVENT_KINDS).length,
    );
    expect(text).not.to.include('site-canary');
  });

  it('answers without a database, and says so', async () => {
    const alone = await runService();
    try {
      const scrape = async (): Promise<string> =>
        (
          await fetch(`${alone.url}/metrics`, {
            headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
          })
        ).text();
      await alone.database.query('alter table pgboss.queue rename to queue_away');
      const text = await scrape();
      expect(text).to.include('transaction_risk_database_up 0');
      expect(text).not.to.match(/^transaction_risk_dead_letters_open /m);
      expect(text).to.include('transaction_risk_queue_rows 0');
    } finally {
      await alone.database.query('alter table pgboss.queue_away rename to queue');
      await alone.stop();
    }
  });
});
