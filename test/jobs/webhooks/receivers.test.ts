import { expect } from 'chai';
import {
  createAddressGuard,
  createDnsResolver,
  type AddressGuard,
} from '../../../jobs/webhooks/guard.ts';
import { CERTIFICATES, TEST_CA } from '../../support/certificates.ts';
import { startNameServer, type NameServer } from '../../support/name-server.ts';
import { verifyWebhook } from '../../../docs/examples/verify-webhook.ts';
import {
  createWebhookBench,
  type AttemptRow,
  type WebhookBench,
} from '../../support/webhook-delivery.ts';
import {
  answer,
  startReceiver,
  type Behaviour,
  type Receiver,
} from '../../support/webhook-receiver.ts';

const HTTP_DATE = (afterSeconds: number): string =>
  new Date(Date.now() + afterSeconds * 1000).toUTCString();

/** What a receiver does, and what must follow from it. Waits in seconds: first retry 5, times 1.2 at most. */
interface Case {
  readonly name: string;
  readonly behaviour: Behaviour;
  readonly state: 'DELIVERED' | 'PENDING' | 'FAILED';
  readonly status: number | null;
  readonly error: string | null;
  readonly wait?: readonly [number, number];
  readonly answer?: string | null;
  readonly failure?: string;
  /** Milliseconds that the attempt takes. */
  readonly takes?: readonly [number, number];
}

const PLANNED = [5, 6] as const;
const write =
  (text: string | Buffer): Behaviour =>
  (socket) =>
    void socket.write(text);

/** With limits of 400 ms for the answer and 200 ms for the rest of the body. */
const CASES: readonly Case[] = [
  {
    name: '200',
    behaviour: answer(200, {}, 'ok'),
    state: 'DELIVERED',
    status: 200,
    error: null,
    answer: 'ok',
  },
  {
    name: '204',
    behaviour: write('HTTP/1.1 204 No Content\r\n\r\n'),
    state: 'DELIVERED',
    status: 204,
    error: null,
    answer: null,
  },
  { name: '299', behaviour: answer(299), state: 'DELIVERED', status: 299, error: null },
  {
    name: '400',
    behaviour: answer(400, {}, 'bad'),
    state: 'PENDING',
    status: 400,
    error: 'STATUS',
    wait: PLANNED,
    answer: 'bad',
  },
  {
    name: '404',
    behaviour: answer(404),
    state: 'PENDING',
    status: 404,
    error: 'STATUS',
    wait: PLANNED,
  },
  {
    name: '410',
    behaviour: answer(410),
    state: 'FAILED',
    status: 410,
    error: 'STATUS',
    failure: 'GONE',
  },
  {
    name: '500',
    behaviour: answer(500),
    state: 'PENDING',
    status: 500,
    error: 'STATUS',
    wait: PLANNED,
  },
  {
    name: '429 with Retry-After in seconds',
    behaviour: answer(429, { 'retry-after': '8' }),
    state: 'PENDING',
    status: 429,
    error: 'STATUS',
    wait: [8, 8],
  },
  {
    name: '429 with a Retry-After before the plan',
    behaviour: answer(429, { 'retry-after': '1' }),
    state: 'PENDING',
    status: 429,
    error: 'STATUS',
    wait: PLANNED,
  },
  {
    name: '503 with Retry-After as a date',
    behaviour: (socket, request, count) =>
      answer(503, { 'retry-after': HTTP_DATE(8) })(socket, request, count),
    state: 'PENDING',
    status: 503,
    error: 'STATUS',
    wait: [6.5, 8.2],
  },
  {
    name: '503 with an absurd Retry-After',
    behaviour: answer(503, { 'retry-after': '99999999999999' }),
    state: 'PENDING',
    status: 503,
    error: 'STATUS',
    wait: [10, 10],
  },
  {
    name: '503 with a Retry-After that is none',
    behaviour: answer(503, { 'retry-after': 'tomorrow' }),
    state: 'PENDING',
    status: 503,
    error: 'STATUS',
    wait: PLANNED,
  },
  {
    name: 'a connection reset',
    behaviour: (socket) => void socket.resetAndDestroy(),
    state: 'PENDING',
    status: null,
    error: 'RESET',
    wait: PLANNED,
  },
  {
    name: 'a connection closed without an answer',
    behaviour: (socket) => void socket.end(),
    state: 'PENDING',
    status: null,
    error: 'RESET',
    wait: PLANNED,
  },
  {
    name: 'no answer at all',
    behaviour: () => undefined,
    state: 'PENDING',
    status: null,
    error: 'TIMEOUT',
    wait: PLANNED,
    takes: [390, 700],
  },
  {
    name: 'headers that come a byte at a time',
    behaviour(socket) {
      const text = `HTTP/1.1 200 OK\r\n${'x-slow: yes\r\n'.repeat(100)}\r\n`;
      let at = 0;
      const timer = setInterval(() => {
        if (socket.destroyed || at >= text.length) clearInterval(timer);
        else socket.write(text[at++] ?? '');
      }, 10);
    },
    state: 'PENDING',
    status: null,
    error: 'TIMEOUT',
    wait: PLANNED,
    takes: [390, 700],
  },
  {
    name: 'a body that comes a byte at a time',
    behaviour(socket) {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n');
      const timer = setInterval(() => {
        if (socket.destroyed) clearInterval(timer);
        else socket.write('x');
      }, 20);
    },
    state: 'DELIVERED',
    status: 200,
    error: null,
    takes: [190, 450],
  },
  {
    name: 'a body without end',
    behaviour(socket) {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const chunk = `4000\r\n${'y'.repeat(0x4000)}\r\n`;
      const more = (): void => {
        while (!socket.destroyed && socket.write(chunk));
        if (!socket.destroyed) socket.once('drain', more);
      };
      more();
    },
    state: 'DELIVERED',
    status: 200,
    error: null,
    answer: 'y'.repeat(256),
    takes: [0, 350],
  },
  {
    name: 'a broken gzip body',
    behaviour: answer(200, { 'content-encoding': 'gzip' }, 'this is not gzip'),
    state: 'DELIVERED',
    status: 200,
    error: null,
    answer: null,
  },
  {
    name: 'something that is not HTTP',
    behaviour: write('SSH-2.0-OpenSSH_9.6\r\n'),
    state: 'PENDING',
    status: null,
    error: 'PROTOCOL',
    wait: PLANNED,
  },
  {
    name: 'headers without end',
    behaviour: write(`HTTP/1.1 200 OK\r\nx: ${'z'.repeat(40_000)}`),
    state: 'PENDING',
    status: null,
    error: 'PROTOCOL',
    wait: PLANNED,
  },
  {
    name: 'an interim answer and then none',
    behaviour: write('HTTP/1.1 103 Early Hints\r\n\r\n'),
    state: 'PENDING',
    status: null,
    error: 'TIMEOUT',
    wait: PLANNED,
  },
  {
    name: 'an interim answer before 200',
    behaviour: write(
      'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
    ),
    state: 'DELIVERED',
    status: 200,
    error: null,
  },
  {
    name: 'an answer that repeats a card number',
    behaviour: answer(400, {}, 'no such card 4111111111111111'),
    state: 'PENDING',
    status: 400,
    error: 'STATUS',
    wait: PLANNED,
    answer: '[withheld: CARD_NUMBER]',
  },
];

describe('a webhook receiver on a real socket', () => {
  let bench: WebhookBench;
  let target: Receiver;
  const redirecting = [301, 302, 303, 307, 308];
  const cases = [
    ...CASES,
    ...redirecting.map((status): Case => ({
      name: String(status),
      behaviour: (...request) => answer(status, { location: target.url })(...request),
      state: 'PENDING',
      status,
      error: 'REDIRECT',
      wait: PLANNED,
    })),
  ];
  const made = new Map<string, { receiver: Receiver; endpointId: bigint; secret: string }>();

  before(async () => {
    bench = await createWebhookBench();
    target = await startReceiver();
    for (const { name, behaviour } of cases) {
      const receiver = await startReceiver({ behaviour });
      made.set(name, { receiver, ...(await bench.addEndpoint(receiver.url)) });
    }
    // One event, which every one of them wants.
    await bench.emit();
    bench.deliver({ limits: { answerMs: 400, bodyMs: 200 } });
    const rows = 'select count(*)::int as made from webhook_attempt';
    await bench.until(
      async () => (await bench.database.query<{ made: number }>(rows))[0]?.made === cases.length,
      'an attempt at each',
    );
  });

  after(async () => {
    for (const { receiver } of made.values()) await receiver.close();
    await target.close();
    await bench.stop();
  });

  for (const each of cases) {
    it(`with ${each.name}: ${each.state}, ${each.error ?? 'no error'}`, async () => {
      const { receiver, endpointId, secret } = made.get(each.name)!;
      const [attempt] = await bench.attempts(endpointId);
      const outcome = each.state === 'PENDING' ? 'RETRY' : each.state;
      expect(attempt).to.include({
        attempt: 1,
        outcome,
        http_status: each.status,
        error_class: each.error,
        address: '127.0.0.1',
      });
      if (each.answer !== undefined) expect(attempt?.answer).to.equal(each.answer);
      if (each.takes !== undefined) expect(attempt?.duration_ms).to.be.within(...each.takes);
      const [delivery] = await bench.deliveries(endpointId);
      expect(delivery).to.include({
        state: each.state,
        attempts: 1,
        step: each.state === 'DELIVERED' ? 0 : 1,
        failure: each.failure ?? null,
      });
      if (each.wait === undefined) {
        expect(delivery?.next_attempt_at).to.equal(null);
      } else {
        const ended = Number(attempt?.attempted_at) + Number(attempt?.duration_ms);
        const wait = (Number(delivery?.next_attempt_at) - ended) / 1000;
        expect(wait).to.be.within(each.wait[0] - 0.05, each.wait[1] + 0.2);
        const [job] = await bench.database.query<{ at: Date }>(
          `select start_after as at from pgboss.job
           where name = 'webhook' and state = 'created' and data ->> 'endpoint_id' = $1`,
          [String(endpointId)],
        );
        const off = Number(job?.at) - Number(delivery?.next_attempt_at);
        expect(Math.abs(off), 'the job runs when the delivery says').to.be.below(1_000);
      }
      expect(receiver.received).to.have.length(1);
      const [request] = receiver.received;
      expect(request).to.include({ method: 'POST', path: '/hooks?from=test' });
      expect(verifyWebhook(request!.headers, request!.body, { current: secret })).to.equal(true);
    });
  }

  it('is never left for the address that a redirect names', () => {
    expect(target.connections()).to.equal(0);
  });

  it('turns itself off with 410, and operators hear of it', async () => {
    const { endpointId } = made.get('410')!;
    const [endpoint] = await bench.database.query(
      'select state, disabled_reason from webhook_endpoint where id = $1',
      [endpointId],
    );
    expect(endpoint).to.deep.equal({ state: 'DISABLED', disabled_reason: 'GONE' });
    const events = await bench.database.query(
      `select kind, detail from operator_event where subject = $1`,
      [`endpoint ${endpointId}`],
    );
    expect(events).to.deep.equal([
      { kind: 'webhook_endpoint_disabled', detail: { reason: 'GONE' } },
    ]);
  });

  it('has met no fault of ours', () => {
    expect(bench.faults).to.deep.equal([]);
  });
});

describe('a webhook receiver behind a name', () => {
  let bench: WebhookBench;
  let names: NameServer;
  let trap: Receiver;

  before(async () => {
    bench = await createWebhookBench();
    names = await startNameServer();
    trap = await startReceiver({ tls: CERTIFICATES.good });
    const resolve = createDnsResolver([names.address]);
    const strict = createAddressGuard({ allowPrivate: false, resolve });
    // Whatever the guard admits is dialled at the trap: no test calls a stranger.
    const guard: AddressGuard = {
      ...strict,
      admitAddress: () => undefined,
      lookup(hostname, options, callback) {
        strict.lookup(hostname, { ...options, all: true }, (error, found) => {
          if (error !== null || found.length === 0) callback(error, []);
          else callback(null, [{ address: '127.0.0.1', family: 4 }]);
        });
      },
    };
    bench.deliver({ guard, ca: TEST_CA, waits: [1, 300], limits: { answerMs: 2_000 } });
  });

  after(async () => {
    await bench.stop();
    await trap.close();
    await names.close();
  });

  const attemptsAt = async (url: string, count: number): Promise<AttemptRow[]> => {
    await bench.database.query(`update webhook_endpoint set state = 'DISABLED'`);
    const { endpointId } = await bench.addEndpoint(url);
    await bench.emit();
    const made = async (): Promise<boolean> => (await bench.attempts(endpointId)).length >= count;
    await bench.until(made, `${count} attempts`);
    return bench.attempts(endpointId);
  };

  const refused = {
    outcome: 'RETRY',
    http_status: null,
    error_class: 'ADDRESS_REFUSED',
    address: null,
    answer: null,
  };

  it('that resolves to a private address is not connected to, and tried again on schedule', async () => {
    names.answer('private.test', ['10.1.2.3']);
    const [attempt] = await attemptsAt(`https://private.test:${trap.port}/`, 1);
    expect(attempt).to.include(refused);
    const wait = Number(attempt?.next_attempt_at) - Number(attempt?.attempted_at);
    expect(wait).to.be.within(1_000, 1_500);
    expect(trap.connections()).to.equal(0);
  });

  it('whose answer changes between two attempts is judged anew at each', async () => {
    names.answer('hooks.test', ['8.8.8.8'], ['169.254.169.254']);
    trap.behave((socket, request, nth) =>
      answer(500, { connection: 'close' })(socket, request, nth),
    );
    const attempts = await attemptsAt(`https://hooks.test:${trap.port}/`, 2);
    expect(attempts[0]).to.include({ http_status: 500, address: '127.0.0.1' });
    expect(attempts[1]).to.include(refused);
    expect(trap.received).to.have.length(1);
  });

  it('whose certificate is another name’s gets nothing', async () => {
    names.answer('other.test', ['8.8.4.4']);
    const [attempt] = await attemptsAt(`https://other.test:${trap.port}/`, 1);
    expect(attempt).to.include({ outcome: 'RETRY', http_status: null, error_class: 'TLS' });
    expect(trap.received).to.have.length(1);
  });

  it('that does not exist is tried again on schedule', async () => {
    const [attempt] = await attemptsAt(`https://nowhere.test:${trap.port}/`, 1);
    expect(attempt).to.include({ outcome: 'RETRY', error_class: 'DNS', address: null });
    expect(bench.faults).to.deep.equal([]);
  });
});
