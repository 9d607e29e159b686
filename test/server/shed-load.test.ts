import { createServer, request, Agent, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { pino } from 'pino';
import { shedLoad } from '../../server/shed-load.ts';

describe('events while the queue is full', () => {
  let server: Server;
  let isFull = true;
  let shed = 0;
  const agent = new Agent({ keepAlive: true, maxSockets: 2_000 });

  before((done) => {
    server = createServer(
      shedLoad((_request, response) => response.end('accepted'), {
        isFull: () => isFull,
        onShed: () => {
          shed += 1;
        },
        log: pino({ level: 'silent' }),
      }),
    );
    server.listen(0, '127.0.0.1', done);
  });

  beforeEach(() => {
    isFull = true;
    shed = 0;
  });

  after((done) => {
    agent.destroy();
    server.close(() => done());
    server.closeAllConnections();
  });

  const submit = (body = '{}', path = '/v1/transactions') =>
    new Promise<{ status: number; retryAfter: string | undefined; port: number; ms: number }>(
      (resolve, reject) => {
        const began = performance.now();
        const { port } = server.address() as AddressInfo;
        const sent = request(
          {
            agent,
            host: '127.0.0.1',
            port,
            path,
            method: 'POST',
            headers: { 'content-length': Buffer.byteLength(body) },
          },
          (response) => {
            const { localPort = 0 } = response.socket;
            response.resume().once('end', () =>
              resolve({
                status: response.statusCode ?? 0,
                retryAfter: response.headers['retry-after'],
                port: localPort,
                ms: performance.now() - began,
              }),
            );
          },
        );
        sent.once('error', reject);
        sent.end(body);
      },
    );

  it('are refused at once while they are few, and told when to come back', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, () => submit()));
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([503]));
    expect(new Set(answers.map(({ retryAfter }) => retryAfter))).to.deep.equal(new Set(['1']));
    expect(shed).to.equal(60);
  });

  it('are all refused in a flood, spread over time, and what else comes meanwhile is served', async () => {
    const flood = Promise.all(Array.from({ length: 1_200 }, () => submit()));
    const other = await submit('{}', '/v1/other');
    expect(other.status).to.equal(200);
    const answers = await flood;
    expect(answers.every(({ status }) => status === 503)).to.equal(true);
    expect(shed).to.equal(1_200);
    // 128 at once, the others at 4,000 a second: the last one after 0.27 s at the earliest.
    expect(Math.max(...answers.map(({ ms }) => ms))).to.be.greaterThan(200);
  });

  it('leave their connection usable, with a large body too', async () => {
    const large = JSON.stringify({ note: 'x'.repeat(250_000) });
    const refused = await submit(large);
    isFull = false;
    const accepted = await submit();
    expect([refused.status, accepted.status]).to.deep.equal([503, 200]);
    expect(accepted.port).to.equal(refused.port);
  });
});
