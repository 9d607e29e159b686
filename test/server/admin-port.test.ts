import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect } from 'chai';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';
import { freePort } from '../support/whole-service.ts';

describe('with ADMIN_PORT set', () => {
  let running: RunningService;
  let adminPort: number;

  before(async () => {
    adminPort = await freePort();
    running = await runService({
      role: 'api',
      environment: { ADMIN_PORT: String(adminPort), HOST: '0.0.0.0' },
    });
  });
  after(() => running.stop());

  const ask = async (port: number, path: string): Promise<{ status: number; text: string }> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    return { status: response.status, text: await response.text() };
  };
  const ADMIN_PATHS = ['/admin/trpc/sites.list?input=%7B%7D', '/metrics'];

  it('the admin side is there and nowhere else: on PORT its paths are 404, whatever the token', async () => {
    for (const path of ADMIN_PATHS) {
      expect((await ask(adminPort, path)).status, path).to.equal(200);
      const elsewhere = await ask(running.port, path);
      expect(elsewhere.status, path).to.equal(404);
      expect(JSON.parse(elsewhere.text)).to.have.nested.property('error.code', 'NOT_FOUND');
    }
  });

  it('the public interface is not on it', async () => {
    expect((await ask(adminPort, '/v1/usage')).status).to.equal(404);
    expect((await ask(adminPort, '/healthz')).status).to.equal(200);
  });

  it('it listens on loopback only, also where HOST is every address', async function () {
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((face) => face !== undefined && face.family === 'IPv4' && !face.internal)?.address;
    if (outside === undefined) this.skip();
    const reach = (port: number): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect({ host: outside, port, timeout: 2_000 });
        const end = (outcome: string): void => {
          socket.destroy();
          resolve(outcome);
        };
        socket.on('connect', () => end('connected'));
        socket.on('error', () => end('refused'));
        socket.on('timeout', () => end('refused'));
      });
    expect(await reach(running.port)).to.equal('connected');
    expect(await reach(adminPort)).to.equal('refused');
  });
});
