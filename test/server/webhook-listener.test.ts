import { spawn, type ChildProcess } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';

const MAIN = join(import.meta.dirname, '../../server/webhook-listener/main.ts');
const SECRET = 'trk_whs_of-the-listener-test';

describe('npm run webhook-listener', () => {
  const running: ChildProcess[] = [];
  afterEach(() => {
    for (const child of running.splice(0)) child.kill('SIGKILL');
  });

  function start(args: string[], environment: Record<string, string>) {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.push(child);
    let printed = '';
    let told = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (told += text));
    const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
    return { child, exited, printed: () => printed, told: () => told };
  }

  async function listening(
    environment: Record<string, string>,
    args: string[] = [],
  ): Promise<ReturnType<typeof start> & { readonly url: string }> {
    const listener = start(['--port', '0', ...args], environment);
    for (const end = performance.now() + 40_000; performance.now() < end; await sleep(20)) {
      const url = /http:\/\/127\.0\.0\.1:\d+\//.exec(listener.told())?.[0];
      if (url !== undefined) return { ...listener, url };
    }
    throw new Error(`it does not listen: ${listener.told()}`);
  }

  const deliver = async (
    url: string,
    body: string,
    secret = SECRET,
    header = 'x-service-signature',
  ): Promise<number> => {
    const timestamp = new Date().toISOString();
    const signature = createHmac('sha256', secret).update(`${timestamp}.evt_1.${body}`);
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'x-service-event-id': 'evt_1',
        'x-service-timestamp': timestamp,
        'x-service-signature': 'v1=none',
        [header]: `v1=${signature.digest('hex')}`,
      },
      body,
    });
    await response.arrayBuffer();
    return response.status;
  };

  it('prints verified deliveries, tells repeated ones, refuses forged ones without printing them', async () => {
    const listener = await listening({ WEBHOOK_SECRET: SECRET });
    const body = JSON.stringify({
      event_type: 'outcome.recorded',
      data: { mark: 'genuine\u001b[2J' },
    });
    expect(await deliver(listener.url, body)).to.equal(204);
    expect(await deliver(listener.url, body)).to.equal(204);
    expect(await deliver(listener.url, '{"mark":"forged"}', 'another secret')).to.equal(401);
    expect((await fetch(listener.url)).status).to.equal(405);
    listener.child.kill('SIGTERM');
    expect(await listener.exited).to.equal(0);
    const lines = listener.printed().split('\n');
    expect(lines[0]).to.match(/^[\d:.]+ {2}verified {2}outcome\.recorded {2}evt_1$/);
    expect(listener.printed()).to.include('genuine');
    expect(listener.printed()).to.not.include('\u001b');
    expect(listener.printed()).to.match(/REPEATED {2}outcome\.recorded {2}evt_1/);
    expect(listener.printed()).to.include('REFUSED');
    expect(listener.printed() + listener.told()).to.not.include('forged');
    expect(listener.printed() + listener.told()).to.not.include(SECRET);
  });

  it('accepts the previous secret only with the time of its replacement, and answers as it is told', async () => {
    const environment = { WEBHOOK_SECRET: 'new', WEBHOOK_PREVIOUS_SECRET: SECRET };
    const replacedAt = ['--replaced-at', new Date().toISOString()];
    const listener = await listening(environment, [...replacedAt, '--status', '503']);
    const previous = 'x-service-signature-previous';
    expect(await deliver(listener.url, '{}', SECRET, previous)).to.equal(503);
    expect(await deliver(listener.url, '{}', SECRET, previous), 'not taken yet').to.equal(503);
    expect(listener.printed()).to.not.include('REPEATED');
    const late = ['--replaced-at', new Date(Date.now() - 25 * 3_600_000).toISOString()];
    const after = await listening(environment, late);
    expect(await deliver(after.url, '{}', SECRET, previous)).to.equal(401);
  });

  it('says what is missing or wrong, with exit code 2', async () => {
    const cases: [string[], Record<string, string>, string][] = [
      [[], {}, 'Set WEBHOOK_SECRET'],
      [['--port', 'x'], { WEBHOOK_SECRET: SECRET }, '--port must be'],
      [[], { WEBHOOK_SECRET: SECRET, WEBHOOK_PREVIOUS_SECRET: 'b' }, '--replaced-at'],
      [['--secret', SECRET], { WEBHOOK_SECRET: SECRET }, '--secret'],
    ];
    await Promise.all(
      cases.map(async ([args, environment, says]) => {
        const listener = start(args, environment);
        expect(await listener.exited).to.equal(2);
        expect(listener.told()).to.include(says);
      }),
    );
  });
});
