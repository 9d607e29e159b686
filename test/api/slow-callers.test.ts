import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { expectBody, expectError } from '../support/bodies.ts';
import { issueKeys } from '../support/keys.ts';
import { eventOf, merchant, type Answer } from '../support/merchant.ts';
import { rawBench } from '../support/raw-bench.ts';
import { openSocket, type RawSocket } from '../support/raw-socket.ts';
import { runService } from '../support/running-service.ts';

describe('callers that take their time', () => {
  const bench = rawBench();
  const { expectLast, submission, submissionHead, get } = bench;

  describe('slow callers', () => {
    it('headers that do not come are 408', async () => {
      await expectLast('GET /v1/usage HTTP/1.1\r\nHost: loc', 'REQUEST_TIMEOUT');
    });

    it('headers that come drop by drop are 408', async () => {
      const socket = openSocket(bench.service().port);
      socket.send('GET /v1/usage HTTP/1.1\r\nHost: localhost\r\n');
      const drops = setInterval(() => socket.send('X-Drop: x\r\n'), 50);
      const answers = await socket.answers();
      clearInterval(drops);
      expectError(answers[0] as Answer, 'REQUEST_TIMEOUT');
      socket.destroy();
    });

    it('a body that pauses is 408', async () => {
      const head = await submissionHead(['Content-Length: 500']);
      await expectLast(`${head}{"schema_version"`, 'REQUEST_TIMEOUT');
      await expectLast(head, 'REQUEST_TIMEOUT');
    });

    it('a body that comes drop by drop is 408', async () => {
      const socket = openSocket(bench.service().port);
      socket.send(await submissionHead(['Content-Length: 5000']));
      const drops = setInterval(() => socket.send(' '), 50);
      const answers = await socket.answers();
      clearInterval(drops);
      expect(answers).to.have.length(1);
      expectError(answers[0] as Answer, 'REQUEST_TIMEOUT');
      expect(await socket.closed()).to.equal(true);
      socket.destroy();
    });

    it('a body without end is refused and cut', async () => {
      const socket = openSocket(bench.service().port);
      socket.send(await submissionHead(['Transfer-Encoding: chunked']));
      const piece = Buffer.from(`10000\r\n${' '.repeat(0x10000)}\r\n`);
      const flow = setInterval(() => {
        if (socket.socket.writableLength < 1_000_000) socket.send(piece);
      }, 1);
      const [answer] = await socket.answers({ count: 1 });
      expect(await socket.closed()).to.equal(true);
      clearInterval(flow);
      expectError(answer as Answer, 'CONTRACT_VALIDATION_FAILED', [
        'body: is larger than 262144 bytes',
      ]);
      socket.destroy();
    });

    it('a body that breaks off is no event', async () => {
      const event = eventOf();
      const whole = await submission(event);
      for (const cut of [1, 50, 400]) {
        const socket = openSocket(bench.service().port);
        socket.send(whole.slice(0, -cut));
        await sleep(30);
        socket.finish();
        const answers = await socket.answers();
        for (const answer of answers) expectError(answer, 'CONTRACT_VALIDATION_FAILED');
        socket.destroy();
      }
      const rows = await bench
        .service()
        .database.query('select 1 from ingestion where source_event_id = $1', [
          event['source_event_id'],
        ]);
      expect(rows).to.have.length(0);
    });

    it('a connection without a word, and one that pauses between requests, are closed', async () => {
      const silent = openSocket(bench.service().port);
      const paused = openSocket(bench.service().port);
      paused.send(await get('/v1/usage'));
      expectBody((await paused.answers({ count: 1 }))[0] as Answer, 200, 'ProductionUsage');
      expect(await silent.closed()).to.equal(true);
      expect(await paused.closed()).to.equal(true);
      for (const answer of await silent.answers()) expectError(answer, 'REQUEST_TIMEOUT');
      expect(await paused.answers()).to.have.length(1);
    });
  });

  describe('callers that never close', () => {
    const sockets = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    const heap = (): number => {
      setFlagsFromString('--expose-gc');
      runInNewContext('gc')();
      return process.memoryUsage().heapUsed;
    };

    it('lose their connections and leave no memory behind', async function () {
      const openings = [
        'garbage\r\n\r\n',
        'GET /v1/usage HTTP/1.1\r\nHost: loc',
        `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}`,
        await submissionHead(['Content-Length: 200000']),
        'POST /v1/transactions HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n',
        'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n',
        await submissionHead(['Content-Length: 9', 'Expect: wonders']),
        (await submissionHead(['Transfer-Encoding: chunked'])) + 'zz\r\n',
      ];
      const before = sockets();
      const heapBefore = heap();
      for (let round = 0; round < 12; round++) {
        const open = Array.from({ length: 100 }, (_, i) => {
          const socket = openSocket(bench.service().port);
          // Never answers the service's FIN: half of the connection stays ours.
          socket.socket.removeAllListeners('end');
          socket.send(openings[i % openings.length] ?? '');
          return socket;
        });
        await sleep(50);
        if (round > 0) for (const socket of open) socket.destroy();
        else {
          // Half of them are this test's own ends.
          const deadline = performance.now() + 8_000;
          while (sockets() > before + 100 && performance.now() < deadline) await sleep(50);
          expect(sockets(), 'connections left open').to.be.at.most(before + 100);
          for (const socket of open) socket.destroy();
        }
      }
      await sleep(1_500);
      expect(sockets()).to.be.at.most(before + 5);
      expect(heap() - heapBefore).to.be.below(10_000_000);
    });
  });
});

describe('bodies that are received at once', () => {
  it('past 32 MiB declared are refused at once with 503 and Retry-After, and then the service goes on', async () => {
    const service = await runService({ times: { bodyIdleMs: 8_000 } });
    const sockets: RawSocket[] = [];
    try {
      const keys = await issueKeys(service.database, await service.createSite(), 400);
      const part = Buffer.alloc(250_000, 0x20);
      for (let i = 0; i < 200; i++) {
        const socket = openSocket(service.port);
        sockets.push(socket);
        socket.send(
          [
            'POST /v1/transactions HTTP/1.1',
            'Host: localhost',
            'Content-Type: application/json',
            `X-Api-Key: ${keys[i % keys.length] ?? ''}`,
            'Content-Length: 262144',
            '\r\n',
          ].join('\r\n'),
        );
        socket.send(part);
      }
      // 32 MiB hold 128 of them.
      const refused = async (): Promise<Answer[]> =>
        (await Promise.all(sockets.map((socket) => socket.answers({ milliseconds: 0 })))).flat();
      const deadline = performance.now() + 6_000;
      while ((await refused()).length < 72 && performance.now() < deadline) await sleep(100);
      const answers = await refused();
      expect(answers.length).to.equal(72);
      for (const answer of answers) {
        expectError(answer, 'INGESTION_UNAVAILABLE');
        expect(answer.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
      }
      for (const socket of sockets) socket.destroy();
      await sleep(200);
      const caller = merchant(service.url, keys[0]);
      expectBody(await caller.submit(eventOf()), 202, 'AcceptedIngestion');
    } finally {
      for (const socket of sockets) socket.destroy();
      await service.stop();
    }
  });
});
