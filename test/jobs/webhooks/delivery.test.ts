import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyWebhook } from '../../../docs/examples/verify-webhook.ts';
import { OPENS_AFTER } from '../../../jobs/webhooks/breaker.ts';
import type { Clock } from '../../../ledger/clock.ts';
import { rotateSecret, SIGNED_WITHIN_MS } from '../../../ledger/webhook-secrets.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { proxyDatabase } from '../../support/database-proxy.ts';
import { createWebhookBench, type WebhookBench } from '../../support/webhook-delivery.ts';
import { answer, startReceiver, type Receiver } from '../../support/webhook-receiver.ts';

describe('delivery of webhooks', () => {
  let database: TestDatabase;
  let bench: WebhookBench;
  let receivers: Receiver[];

  before(async () => {
    database = await createTestDatabase();
  });

  after(() => database.drop());

  beforeEach(async () => {
    bench = await createWebhookBench(database);
    receivers = [];
  });

  afterEach(async () => {
    await bench.stop();
    for (const receiver of receivers) await receiver.close();
  });

  const receiver = async (...options: Parameters<typeof startReceiver>): Promise<Receiver> => {
    const started = await startReceiver(...options);
    receivers.push(started);
    return started;
  };

  const delivered = (): Promise<number> => bench.count('webhook_delivery', `state = 'DELIVERED'`);

  const openJobs = async (): Promise<number> => {
    const [row] = await database.query<{ n: number }>(
      `select count(*)::int as n from pgboss.job where name = 'webhook' and state < 'completed'`,
    );
    return row?.n ?? 0;
  };

  it('sends the stored body byte for byte on each attempt, signed anew, until a 2xx', async () => {
    const target = await receiver({
      behaviour: (socket, request, nth) => answer(nth < 3 ? 500 : 200)(socket, request, nth),
    });
    const { secret } = await bench.addEndpoint(target.url);
    bench.deliver({ waits: [1, 1, 1] });
    await bench.emit();
    await bench.until(async () => (await delivered()) === 1, 'the third attempt');
    expect(target.received).to.have.length(3);
    const [event] = await bench.database.query<{ body: string }>(
      'select body from webhook_event where site_id = $1',
      [bench.siteId],
    );
    const ids = new Set(target.received.map(({ headers }) => headers['x-service-event-id']));
    const times = new Set(target.received.map(({ headers }) => headers['x-service-timestamp']));
    for (const { body, headers } of target.received) {
      expect(body.toString()).to.equal(event?.body);
      expect(verifyWebhook(headers, body, { current: secret })).to.equal(true);
    }
    expect([ids.size, times.size]).to.deep.equal([1, 3]);
    expect((JSON.parse(event!.body) as { event_id: string }).event_id).to.equal([...ids][0]);
    expect(await openJobs(), 'no job is left').to.equal(0);
  });

  it('ends FAILED when the schedule is used up, with every attempt on record', async () => {
    const target = await receiver({ behaviour: answer(500) });
    const { endpointId } = await bench.addEndpoint(target.url);
    bench.deliver({ waits: [1, 1] });
    await bench.emit();
    await bench.until(
      async () => (await bench.count('webhook_delivery', `state = 'FAILED'`)) === 1,
      'the end',
    );
    const attempts = await bench.attempts(endpointId);
    expect(attempts.map(({ attempt, outcome }) => [attempt, outcome])).to.deep.equal([
      [1, 'RETRY'],
      [2, 'RETRY'],
      [3, 'FAILED'],
    ]);
    const [delivery] = await bench.deliveries();
    expect(delivery).to.include({ failure: 'EXHAUSTED', next_attempt_at: null, attempts: 3 });
  });

  it('by two workers happens once each where nothing crashes', async () => {
    const target = await receiver();
    await bench.addEndpoint(target.url);
    bench.deliver();
    bench.deliver();
    for (let n = 0; n < 10; n += 1) await bench.emit(30);
    await bench.untilDelivered(300);
    expect(target.received).to.have.length(300);
  });

  it('keeps an idle connection open, and a receiver that closes it meanwhile costs no attempt', async () => {
    const target = await receiver({
      behaviour(socket, request, nth) {
        // Every second request on a connection meets a receiver that has just hung up.
        if (request.headers['x-seen'] === undefined && nth % 2 === 0) socket.destroy();
        else answer(200)(socket, request, nth);
      },
    });
    const { endpointId } = await bench.addEndpoint(target.url);
    bench.deliver();
    for (let n = 1; n <= 4; n += 1) {
      await bench.emit();
      await bench.until(async () => (await delivered()) === n, `delivery ${n}`);
    }
    const attempts = await bench.attempts(endpointId);
    expect(attempts.map(({ attempt, outcome }) => [attempt, outcome])).to.deep.equal(
      Array.from({ length: 4 }, () => [1, 'DELIVERED']),
    );
  });

  it('spares an endpoint that fails ten times in a row, holds what comes, and delivers all of it once it answers', async () => {
    const target = await receiver({ behaviour: answer(503) });
    const other = await receiver();
    const { endpointId } = await bench.addEndpoint(target.url);
    const { endpointId: healthy } = await bench.addEndpoint(other.url);
    bench.deliver({ waits: [1, 1, 1, 1, 1, 1, 1, 1] });
    await bench.emit(15);
    const breaker = async (): Promise<string | undefined> =>
      (
        await bench.database.query<{ breaker: string }>(
          'select breaker from webhook_endpoint_health where endpoint_id = $1',
          [endpointId],
        )
      )[0]?.breaker;
    await bench.until(async () => (await breaker()) === 'OPEN', 'the breaker opens');
    const spared = target.received.length;
    expect(spared).to.be.within(OPENS_AFTER, OPENS_AFTER + 12);
    await bench.emit(40);
    const held = `endpoint_id = ${endpointId} and state = 'PENDING' and next_attempt_at is null`;
    await bench.until(
      async () => (await bench.count('webhook_delivery', held)) === 55,
      'all of them are held',
    );
    expect(await openJobs(), 'no job waits for a dead endpoint').to.equal(0);
    expect(target.received.length - spared, 'nobody calls it').to.be.below(5);
    expect(
      await bench.count('webhook_delivery', `endpoint_id = ${healthy} and state = 'DELIVERED'`),
    ).to.equal(55);

    const later: Clock = { now: () => Date.now() + 60_000 };
    const calls = target.received.length;
    // A transaction under way may have the endpoint in hand.
    await bench.until(async () => (await bench.release(later)) === 1, 'one probe');
    await bench.until(async () => (await breaker()) === 'OPEN', 'the probe fails');
    expect(target.received.length - calls).to.equal(1);

    target.behave(answer(200));
    const muchLater: Clock = { now: () => Date.now() + 600_000 };
    await bench.until(async () => (await bench.release(muchLater)) === 1, 'another probe');
    await bench.until(async () => (await breaker()) === 'CLOSED', 'the probe succeeds');
    await bench.untilDelivered(110);
    expect(bench.faults).to.deep.equal([]);
  });

  it('turns an endpoint off after five days of nothing but failures, tells operators, and fails what is held', async () => {
    const target = await receiver({ behaviour: answer(500) });
    const { endpointId } = await bench.addEndpoint(target.url);
    await bench.database.query(
      `insert into webhook_endpoint_health (site_id, endpoint_id, failures_in_row, failing_since, breaker, probe_at)
       values ($1, $2, 40, now() - interval '5 days', 'HALF_OPEN', now())`,
      [bench.siteId, endpointId],
    );
    bench.deliver();
    await bench.emit(8);
    await bench.until(
      async () => (await bench.count('webhook_endpoint', `state = 'DISABLED'`)) === 1,
      'it is turned off',
    );
    const [event] = await bench.database.query(
      'select kind, detail from operator_event where site_id = $1',
      [bench.siteId],
    );
    expect(event).to.deep.equal({
      kind: 'webhook_endpoint_disabled',
      detail: { reason: 'FAILING' },
    });
    await bench.until(async () => {
      await bench.release();
      await bench.database.query(
        `update pgboss.job set start_after = now() where name = 'webhook'`,
      );
      return (await bench.count('webhook_delivery', `failure = 'ENDPOINT_DISABLED'`)) >= 7;
    }, 'what was held has failed');
  });

  describe('to an endpoint that is being activated', () => {
    const stateOf = async (endpointId: bigint): Promise<string | undefined> =>
      (
        await bench.database.query<{ state: string }>(
          'select state from webhook_endpoint where id = $1',
          [endpointId],
        )
      )[0]?.state;

    it('is its challenge and nothing else; a 2xx activates it, and what was held follows', async () => {
      const target = await receiver();
      const { endpointId } = await bench.addEndpoint(target.url);
      bench.deliver();
      // Queued while it was active, then the URL changed.
      await bench.database.query(`update webhook_endpoint set state = 'PENDING' where id = $1`, [
        endpointId,
      ]);
      await bench.emit(5);
      await sleep(300);
      expect(target.received).to.have.length(0);
      await bench.challenge(endpointId);
      await bench.until(async () => (await stateOf(endpointId)) === 'ACTIVE', 'activation');
      const body = JSON.parse(target.received[0]!.body.toString()) as { event_type: string };
      expect(body.event_type).to.equal('webhook.challenge');
      await bench.untilDelivered(6);
    });

    it('does not activate by anything but a 2xx, nor a URL by the answer to a former one', async () => {
      let release: () => void = () => undefined;
      const old = await receiver({
        behaviour(socket, request, nth) {
          release = () => answer(200)(socket, request, nth);
        },
      });
      const target = await receiver({ behaviour: answer(403) });
      const { endpointId } = await bench.addEndpoint(old.url);
      bench.deliver();
      await bench.challenge(endpointId);
      await bench.until(() => old.received.length === 1, 'the first challenge');
      await bench.database.query('update webhook_endpoint set url = $1, url_version = 2', [
        target.url,
      ]);
      await bench.challenge(endpointId);
      await bench.until(
        async () => (await bench.attempts(endpointId)).length === 1,
        'the second challenge',
      );
      release();
      await bench.until(
        async () => (await bench.attempts(endpointId)).length === 2,
        'the late answer',
      );
      expect(await stateOf(endpointId)).to.equal('PENDING');
    });

    it('that never answers its challenge is told of when the schedule is used up, and stays pending', async () => {
      const target = await receiver({ behaviour: answer(500) });
      const { endpointId } = await bench.addEndpoint(target.url);
      bench.deliver({ waits: [1] });
      await bench.challenge(endpointId);
      await bench.until(async () => (await bench.attempts(endpointId)).length === 1, 'an attempt');
      // Of the first challenge nothing is told: it is void.
      await bench.challenge(endpointId);
      const told = (): Promise<object[]> =>
        bench.database.query('select kind, subject from operator_event where site_id = $1', [
          bench.siteId,
        ]);
      await bench.until(async () => (await told()).length > 0, 'the end of the schedule');
      expect(await told()).to.deep.equal([
        { kind: 'webhook_challenge_failed', subject: `endpoint ${endpointId}` },
      ]);
      expect(await stateOf(endpointId)).to.equal('PENDING');
      expect(target.received).to.have.length(3);
    });

    it('is turned off by no 410 of a former URL, and what got it is delivered to the present one', async () => {
      let release: () => void = () => undefined;
      const old = await receiver({
        behaviour(socket, request, nth) {
          release = () => answer(410)(socket, request, nth);
        },
      });
      const target = await receiver();
      const { endpointId } = await bench.addEndpoint(old.url);
      bench.deliver();
      await bench.emit();
      await bench.until(() => old.received.length === 1, 'the attempt at the former URL');
      await bench.database.query(
        'update webhook_endpoint set url = $1, url_version = 2 where id = $2',
        [target.url, endpointId],
      );
      await bench.challenge(endpointId);
      await bench.until(async () => (await stateOf(endpointId)) === 'ACTIVE', 'activation');
      release();
      await bench.untilDelivered(2);
      expect(await stateOf(endpointId)).to.equal('ACTIVE');
      const attempts = await bench.attempts(endpointId);
      expect(attempts.map((each) => [each.http_status, each.outcome])).to.have.deep.members([
        [200, 'DELIVERED'],
        [410, 'RETRY'],
        [200, 'DELIVERED'],
      ]);
      expect(target.received.at(-1)?.body).to.deep.equal(old.received[0]?.body);
    });

    it('is sent by the newest of two activations only; both leave one active endpoint', async () => {
      const target = await receiver();
      const { endpointId } = await bench.addEndpoint(target.url);
      await Promise.all([bench.challenge(endpointId), bench.challenge(endpointId)]);
      bench.deliver();
      await bench.until(async () => (await stateOf(endpointId)) === 'ACTIVE', 'activation');
      await bench.until(
        async () => (await bench.count('webhook_delivery', `state = 'PENDING'`)) === 0,
        'the end',
      );
      const states = (await bench.deliveries()).map(({ state, failure }) => [state, failure]);
      expect(states).to.have.deep.members([
        ['DELIVERED', null],
        ['FAILED', 'CHALLENGE_VOID'],
      ]);
      expect(target.received).to.have.length(1);
    });
  });

  it('is not delayed by thirty endpoints that never answer', async () => {
    const hanging = await receiver({ behaviour: () => undefined });
    const target = await receiver();
    for (let n = 0; n < 30; n += 1) await bench.addEndpoint(`${hanging.url}&n=${n}`);
    const { endpointId } = await bench.addEndpoint(target.url);
    bench.deliver({ limits: { answerMs: 3_000 }, lanes: { all: 80, doubtful: 40 } });
    const lags: number[] = [];
    for (let n = 1; n <= 40; n += 1) {
      await bench.emit(2);
      await bench.until(() => target.received.length >= 2 * n, `event ${n}`, 5_000);
      const { headers, at } = target.received.at(-1)!;
      const hex = (headers['x-service-event-id'] ?? '').slice(4, 16);
      lags.push(at - Number.parseInt(hex, 16));
    }
    lags.sort((a, b) => a - b);
    expect(lags[Math.floor(lags.length * 0.95)], 'p95 from event to delivery, ms').to.be.below(
      2_000,
    );
    const done = `endpoint_id = ${endpointId} and state = 'DELIVERED'`;
    await bench.until(
      async () => (await bench.count('webhook_delivery', done)) === 80,
      'all of it',
    );
  });

  it('does not wait until another endpoint’s long backlog is put aside', async () => {
    const hanging = await receiver({ behaviour: () => undefined });
    await bench.addEndpoint(hanging.url);
    for (let n = 0; n < 10; n += 1) await bench.emit(600);
    await database.query(
      `update webhook_endpoint set state = 'DISABLED', disabled_at = '2000-01-01'
      where site_id = $1`,
      [bench.siteId],
    );
    const target = await receiver();
    await bench.addEndpoint(target.url);
    await bench.emit();
    await database.query(
      `update webhook_endpoint set state = 'ACTIVE', disabled_at = null where site_id = $1`,
      [bench.siteId],
    );
    let waiting = 0;
    target.behave((socket, request, nth) => {
      void openJobs().then((jobs) => (waiting = jobs));
      answer(200)(socket, request, nth);
    });
    bench.deliver();
    await bench.until(() => waiting > 0, 'the delivery behind 6,000 others');
    expect(waiting, 'jobs that were queued before it').to.be.above(3_000);
  });

  it('is refused by no receiver that knows either secret while the secret is replaced under load', async () => {
    const refused: string[] = [];
    const verifying = (name: string, secrets: () => Parameters<typeof verifyWebhook>[2]) =>
      receiver({
        behaviour(socket, request, nth) {
          const good = verifyWebhook(request.headers, request.body, secrets());
          if (!good) refused.push(`${name}: request ${nth}`);
          answer(good ? 200 : 401)(socket, request, nth);
        },
      });
    const [before, after]: [string[], string[]] = [[], []];
    let told = false;
    // One never hears of the new secret, one forgets the old when it is told, one keeps both as it is advised to.
    const targets = [
      await verifying('keeps the old', () => ({ current: before[0]! })),
      await verifying('has only the new', () => ({ current: (told ? after : before)[1]! })),
      await verifying('has both', () =>
        told
          ? { current: after[2]!, previous: before[2]!, replacedAt: Date.now() }
          : { current: before[2]! },
      ),
    ];
    const ids: bigint[] = [];
    for (const target of targets) {
      const { endpointId, secret } = await bench.addEndpoint(target.url);
      ids.push(endpointId);
      before.push(secret);
    }
    bench.deliver();
    bench.deliver();
    let emitted = 0;
    const enough = new AbortController();
    const load = (async () => {
      while (!enough.signal.aborted) {
        await bench.emit(3);
        emitted += 3;
        await sleep(10);
      }
    })();
    await bench.until(async () => (await delivered()) > 100, 'load');
    for (const endpointId of ids) {
      const endpoint = { siteId: bench.siteId, endpointId };
      const rotation = await bench.transaction((db) =>
        rotateSecret(db, bench.box, endpoint, { now: Date.now(), force: false }),
      );
      if (!rotation.done) throw new Error('refused');
      after.push(rotation.secret);
    }
    // As the procedure does before it tells.
    await sleep(SIGNED_WITHIN_MS);
    told = true;
    await sleep(500);
    enough.abort();
    await load;
    await bench.untilDelivered(emitted * 3, 20_000);
    expect(refused).to.deep.equal([]);
    for (const target of targets) {
      const both = target.received.filter(
        ({ headers }) => 'x-service-signature-previous' in headers,
      );
      expect(both.length, 'signed with both after the replacement').to.be.above(10);
      expect(both.length).to.be.below(target.received.length);
    }
    // The previous secret signs for 24 hours and no longer.
    await bench.database.query(
      `update webhook_secret set signs_until = now() where signs_until is not null`,
    );
    await sleep(600);
    await bench.emit();
    await bench.until(() => targets[2]!.received.length === emitted + 1, 'one more');
    expect(targets[2]!.received.at(-1)?.headers).to.not.have.property(
      'x-service-signature-previous',
    );
  });

  it('of others goes on when the secret of one endpoint cannot be opened', async () => {
    const target = await receiver();
    const { endpointId } = await bench.addEndpoint(target.url);
    const { endpointId: broken } = await bench.addEndpoint(`${target.url}&broken`);
    await bench.database.query(`update webhook_secret set key_id = 'lost' where endpoint_id = $1`, [
      broken,
    ]);
    bench.deliver();
    await bench.emit(3);
    await bench.untilDelivered(3);
    expect(
      (await bench.deliveries(endpointId)).every(({ state }) => state === 'DELIVERED'),
    ).to.equal(true);
    expect(
      (await bench.deliveries(broken)).every(
        ({ state, attempts }) => state === 'PENDING' && attempts === 0,
      ),
    ).to.equal(true);
  });

  it('stops within seconds while receivers hang, and what was under way is done by the next worker', async () => {
    const target = await receiver({ behaviour: () => undefined });
    await bench.addEndpoint(target.url);
    const first = bench.deliver();
    await bench.emit(6);
    await bench.until(() => target.received.length > 0, 'an attempt under way');
    const begun = performance.now();
    await first.stop();
    expect(performance.now() - begun).to.be.below(7_000);
    expect(await bench.count('webhook_attempt'), 'nothing was learned').to.equal(0);
    target.behave(answer(200));
    bench.deliver();
    await bench.untilDelivered(6);
  });

  it('goes on after the database was away, and what was answered meanwhile is on record', async () => {
    const proxy = await proxyDatabase(database);
    const behind = await createWebhookBench(proxy.database);
    let answerNow: () => void = () => undefined;
    const target = await receiver({
      behaviour(socket, request, nth) {
        if (nth === 1) answerNow = () => answer(200)(socket, request, nth);
        else answer(200)(socket, request, nth);
      },
    });
    try {
      const { endpointId } = await behind.addEndpoint(target.url);
      behind.deliver();
      await behind.emit();
      await behind.until(() => target.received.length === 1, 'the first attempt');
      await proxy.cut();
      answerNow();
      await sleep(1_000);
      await proxy.restore();
      await behind.untilDelivered(1);
      await behind.emit();
      await behind.untilDelivered(2);
      expect(target.received, 'no attempt was made twice').to.have.length(2);
      expect(await behind.attempts(endpointId)).to.have.length(2);
      expect(behind.faults).to.deep.equal([]);
    } finally {
      await behind.stop();
      await proxy.close();
    }
  });

  it('whose job was deleted is found two minutes later, and one whose job still runs is left alone', async () => {
    const target = await receiver();
    await bench.addEndpoint(target.url);
    await bench.emit(3);
    await database.query(
      `delete from pgboss.job where name = 'webhook' and id <> (select max(id::text)::uuid from pgboss.job where name = 'webhook')`,
    );
    const inTwoMinutes: Clock = { now: () => Date.now() + 121_000 };
    expect(await bench.findForgotten({ now: () => Date.now() + 60_000 })).to.equal(0);
    expect(await bench.findForgotten(inTwoMinutes)).to.equal(2);
    bench.deliver();
    await bench.untilDelivered(3);
    expect(target.received).to.have.length(3);
  });

  it('of a job that names no delivery ends without a word to anybody', async () => {
    const target = await receiver();
    await bench.addEndpoint(target.url);
    await bench.emit();
    await database.query(
      `update pgboss.job set data = jsonb_set(data, '{site_id}', '"999999"'), retry_count = 5, started_on = now()
       where name = 'webhook'`,
    );
    bench.deliver();
    await bench.until(async () => (await openJobs()) === 0, 'the job ends');
    expect(target.received).to.have.length(0);
    expect(bench.faults).to.deep.equal([]);
  });
});
