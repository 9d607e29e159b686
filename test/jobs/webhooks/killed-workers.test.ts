import { expect } from 'chai';
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBoss, WEBHOOK } from '../../../jobs/queues.ts';
import { createWebhookBench, type WebhookBench } from '../../support/webhook-delivery.ts';
import { answer, startReceiver, type Receiver } from '../../support/webhook-receiver.ts';

const WORKER = join(import.meta.dirname, '../../support/webhook-worker.ts');

const KILLS = 20;

describe('webhook workers that are killed at random moments under load', () => {
  let bench: WebhookBench;
  let receiver: Receiver;
  const workers = new Set<ChildProcess>();

  before(async () => {
    bench = await createWebhookBench();
    // A little slow, so that attempts are under way at every moment.
    receiver = await startReceiver({
      behaviour(socket, request, nth) {
        setTimeout(() => answer(200)(socket, request, nth), 10 * Math.random());
      },
    });
  });

  after(async () => {
    for (const worker of workers) worker.kill('SIGKILL');
    await receiver.close();
    await bench.stop();
  });

  /** Starts a worker; resolves when it is about to claim. */
  const start = async (): Promise<ChildProcess> => {
    const worker = fork(WORKER, [bench.database.appUrl, bench.secretsKey]);
    workers.add(worker);
    worker.once('exit', () => workers.delete(worker));
    await new Promise((resolve) => worker.once('message', resolve));
    return worker;
  };

  it('deliver every event at least once; repeats have the same id and body', async function () {
    this.timeout(120_000);
    const supervisor = createBoss({
      url: bench.database.ownerUrl,
      backend: 'postgres',
      applicationName: 'test webhooks supervisor',
      supervise: true,
      migrate: false,
      onError: () => undefined,
    });
    await supervisor.start();
    // Claims of the dead expire sooner than the 30 s of a service: the attempts here take milliseconds.
    await supervisor.updateQueue(WEBHOOK, { expireInSeconds: 4 });
    await bench.addEndpoint(receiver.url);
    await bench.addEndpoint(`${receiver.url}&second`);

    let emitted = 0;
    const enough = new AbortController();
    const load = (async () => {
      while (!enough.signal.aborted) {
        await bench.emit(4);
        emitted += 4;
        await sleep(15);
      }
    })();
    const running = await Promise.all(Array.from({ length: 4 }, start));
    const starting: Promise<unknown>[] = [];
    for (let kill = 0; kill < KILLS;) {
      await sleep(20 + Math.random() * 180);
      const victim = running.shift();
      if (victim === undefined) continue;
      victim.kill('SIGKILL');
      kill += 1;
      // The others work on while this one starts.
      starting.push(start().then((worker) => running.push(worker)));
    }
    await Promise.all(starting);
    enough.abort();
    await load;

    const open = async (): Promise<number> =>
      bench.count('webhook_delivery', `state <> 'DELIVERED'`);
    await bench.until(async () => (await open()) === 0, 'every delivery is DELIVERED', 40_000);
    for (const worker of running) worker.kill('SIGKILL');
    await supervisor.stop({ graceful: false, close: true });

    const rows = await bench.database.query<{ id: string; body: string }>(
      'select id, body from webhook_event',
    );
    expect(rows).to.have.length(emitted);
    const bodies = new Map(rows.map(({ id, body }) => [`evt_${id.replaceAll('-', '')}`, body]));
    const seen = new Map<string, number>();
    for (const { path, headers, body } of receiver.received) {
      const id = headers['x-service-event-id'] ?? '';
      expect(body.toString(), id).to.equal(bodies.get(id));
      const name = `${path} ${id}`;
      seen.set(name, (seen.get(name) ?? 0) + 1);
    }
    expect(seen.size, 'each event at each endpoint').to.equal(emitted * 2);
    const repeats = receiver.received.length - seen.size;
    expect(repeats, 'the kills hit attempts under way').to.be.above(0);
    expect(repeats, 'repeats are those under way at a kill').to.be.below(
      receiver.received.length / 2,
    );
    const attempts = await bench.count('webhook_attempt', `outcome = 'DELIVERED'`);
    expect(attempts, 'each delivery has its attempt on record').to.be.at.least(seen.size);
  });
});
