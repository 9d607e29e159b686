import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { sendEvent } from '../../docs/examples/send-event.ts';
import { PHP, PYTHON } from '../support/languages.ts';

/** What the server does with one call: drops the connection, or answers with a status and perhaps Retry-After. */
type Step = 'drop' | readonly [status: number, retryAfter?: number];

/** How a call of an example ended: the last status (0: no answer) and the waits between, in milliseconds. */
interface Sent {
  readonly status: number;
  readonly waits: readonly number[];
}

const event = { idempotencyKey: 'order-1-authorized', body: '{"a": "ü",  "b":1.50}' };
const ATTEMPTS = 6;

/** Each program sends the event with at most ATTEMPTS attempts, and notes its waits instead of waiting. */
const PROGRAMS: Record<string, { installed: boolean; send: (baseUrl: string) => Promise<Sent> }> = {
  TypeScript: {
    installed: true,
    async send(baseUrl) {
      const waits: number[] = [];
      const wait = async (milliseconds: number): Promise<unknown> => waits.push(milliseconds);
      try {
        const sender = { baseUrl, apiKey: 'key', attempts: ATTEMPTS, wait };
        const { status } = await sendEvent(event, sender);
        return { status, waits };
      } catch {
        return { status: 0, waits };
      }
    },
  },
  Python: {
    installed: PYTHON.installed,
    send: (baseUrl) =>
      PYTHON.run(
        'send_event',
        `
waits = []
try:
    status, _ = send_event(input["baseUrl"], "key", input["idempotencyKey"], input["body"].encode(), ${ATTEMPTS}, lambda s: waits.append(s * 1000))
except (OSError, http.client.HTTPException):
    status = 0
output = {"status": status, "waits": waits}`,
        { baseUrl, ...event },
      ),
  },
  PHP: {
    installed: PHP.installed,
    send: (baseUrl) =>
      PHP.run(
        'send_event',
        `$waits = [];
        [$status] = send_event($input['baseUrl'], 'key', $input['idempotencyKey'], $input['body'], ${ATTEMPTS},
          function ($us) use (&$waits) { $waits[] = $us / 1000; });
        $output = ['status' => $status, 'waits' => $waits];`,
        { baseUrl, ...event },
      ),
  },
};

describe('the examples for senders of events', () => {
  let server: Server;
  let baseUrl: string;
  let steps: Step[] = [];
  const received: { headers: IncomingMessage['headers']; path: string; body: string }[] = [];

  before(async () => {
    server = createServer((request, response) => {
      void text(request).then((body) => {
        const { method, url, headers } = request;
        received.push({ path: `${method} ${url}`, headers, body });
        const step = steps.shift() ?? [500];
        if (step === 'drop') return request.socket.destroy();
        const [status, retryAfter] = step;
        if (retryAfter !== undefined) response.setHeader('Retry-After', retryAfter);
        if (status === 307) response.setHeader('Location', '/elsewhere');
        return response.writeHead(status).end('{}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  for (const [name, { installed, send }] of Object.entries(PROGRAMS)) {
    const test = installed ? it : it.skip;
    const sendThrough = async (...given: Step[]): Promise<Sent & { calls: number }> => {
      steps = [...given];
      received.length = 0;
      const sent = await send(baseUrl);
      return { ...sent, calls: received.length };
    };

    test(`${name}: repeats the same key and bytes until the answer is 202, as patient as it is asked to be`, async () => {
      const sent = await sendThrough([503], [429, 7], 'drop', [503, 0], [202]);
      expect([sent.status, sent.calls]).to.deep.equal([202, 5]);
      const [backOff = -1, asked = -1, dropped = -1, atOnce = -1] = sent.waits;
      expect(backOff).to.be.within(0, 2_000);
      expect(asked).to.be.within(7_000, 8_000);
      expect(dropped).to.be.within(0, 8_000);
      expect(atOnce).to.be.within(0, 1_000);
      for (const { path, headers, body } of received) {
        expect([path, body]).to.deep.equal(['POST /v1/transactions', event.body]);
        expect(headers).to.include({
          'idempotency-key': event.idempotencyKey,
          'x-api-key': 'key',
          'content-type': 'application/json',
        });
      }
    });

    test(`${name}: repeats nothing that repeating cannot mend, and follows no redirect`, async () => {
      for (const status of [202, 307, 400, 401, 403, 404, 409]) {
        const sent = await sendThrough([status]);
        expect(sent).to.deep.equal({ status, waits: [], calls: 1 });
      }
    });

    test(`${name}: hands back what asks for more than 5 minutes, and gives up after its attempts`, async () => {
      expect(await sendThrough([429, 86_400])).to.deep.equal({ status: 429, waits: [], calls: 1 });
      const refused = await sendThrough();
      expect([refused.status, refused.calls]).to.deep.equal([500, ATTEMPTS]);
      const never = await sendThrough(...Array.from({ length: ATTEMPTS }, () => 'drop' as const));
      expect([never.status, never.calls]).to.deep.equal([0, ATTEMPTS]);
      for (const [index, wait] of never.waits.entries()) {
        expect(wait).to.be.within(0, 1000 * 2 ** (index + 1));
      }
    });
  }
});
