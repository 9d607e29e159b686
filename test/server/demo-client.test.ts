import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { MerchantApi } from '../../server/demo/api.ts';
import { DemoError } from '../../server/demo/demo-error.ts';
import { Keyring } from '../../server/demo/keyring.ts';
import { sendAll } from '../../server/demo/send.ts';
import { createTraffic } from '../../server/demo/traffic.ts';
import { waitForAll } from '../../server/demo/wait.ts';

/** What the service answers to the n-th call: status and headers, or nothing at all. */
type Reply = readonly [status: number, headers: Record<string, string>, body: unknown] | 'hang up';

const TRAFFIC = createTraffic({
  seed: 'test',
  run: 'r4nd0m',
  events: 200,
  endsAt: 1_773_144_000_000,
});
const EVENT = TRAFFIC[0];

const accepted = (id: string): Reply => [
  202,
  {},
  {
    request_id: 'req_1',
    ingestion_id: 'ing_1',
    status: 'ACCEPTED',
    received_at: '2026-03-10T12:00:00.000Z',
    schema_version: '1.0',
    source_event_id: id,
    processing_state: 'QUEUED',
  },
];

const refusal = (status: number, code: string, headers: Record<string, string> = {}): Reply => [
  status,
  headers,
  { request_id: 'req_1', error: { code, message: 'No', details: ['path: what is wrong'] } },
];

describe('the merchants of the demo', () => {
  const cleanups: (() => void)[] = [];

  afterEach(() => {
    for (const cleanup of cleanups.splice(0)) cleanup();
  });

  /** A service that answers as the test says. */
  async function serviceThat(reply: (request: IncomingMessage, call: number) => Reply) {
    const keys: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      const key = request.headers['idempotency-key'];
      keys.push(Array.isArray(key) ? key[0] : key);
      const answer = reply(request, keys.length);
      request.resume();
      if (answer === 'hang up') {
        request.socket.destroy();
        return;
      }
      const [status, headers, body] = answer;
      response.writeHead(status, headers).end(JSON.stringify(body));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanups.push(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const keyring = new Keyring([
      { credentialId: '1', apiKey: 'trk_prod_1' },
      { credentialId: '2', apiKey: 'trk_prod_2' },
    ]);
    return { api: new MerchantApi(`http://127.0.0.1:${port}`, keyring), keys };
  }

  const failureOf = async (work: Promise<unknown>): Promise<DemoError> => {
    try {
      await work;
    } catch (error: unknown) {
      if (error instanceof DemoError) return error;
      throw error;
    }
    throw new Error('it succeeded');
  };

  it('repeat under the same Idempotency-Key, no sooner than Retry-After says', async () => {
    if (EVENT === undefined) throw new Error('no traffic');
    const started = performance.now();
    const { api, keys } = await serviceThat((_, call) => {
      if (call === 1) return refusal(429, 'RATE_LIMITED', { 'retry-after': '1' });
      if (call === 2) return refusal(503, 'INGESTION_UNAVAILABLE');
      return call === 3 ? 'hang up' : accepted(EVENT.id);
    });
    expect((await api.submit(EVENT)).ingestionId).to.equal('ing_1');
    expect(performance.now() - started).to.be.at.least(1_000);
    expect(new Set(keys)).to.deep.equal(new Set([`demo:${EVENT.id}`]));
    expect(keys).to.have.length(4);
    expect(api.repeats).to.equal(3);
  });

  it('do not repeat what only a change can mend, and say what the service said', async () => {
    if (EVENT === undefined) throw new Error('no traffic');
    const { api, keys } = await serviceThat(() => refusal(400, 'CONTRACT_VALIDATION_FAILED'));
    const { message } = await failureOf(api.submit(EVENT));
    expect(message).to.contain('400 CONTRACT_VALIDATION_FAILED');
    expect(message).to.contain('path: what is wrong');
    expect(message).to.not.contain('trk_');
    expect(keys).to.have.length(1);
  });

  it('do not wait for next month’s quota', async () => {
    if (EVENT === undefined) throw new Error('no traffic');
    const { api, keys } = await serviceThat(() =>
      refusal(429, 'API_QUOTA_EXCEEDED', { 'retry-after': '864000' }),
    );
    expect((await failureOf(api.submit(EVENT))).message).to.contain('API_QUOTA_EXCEEDED');
    expect(keys).to.have.length(1);
  });

  it('send an original before what refers to it, and one card’s events one after the other', async () => {
    const traffic = TRAFFIC.slice(0, 80);
    const { api, keys } = await serviceThat(() => accepted('any'));
    await sendAll(api, traffic, () => undefined);
    const place = new Map(keys.map((key, index) => [key, index]));
    const last = new Map<string, number>();
    for (const { id, event } of traffic) {
      const at = place.get(`demo:${id}`) ?? -1;
      const { original_event_id: original } = event.transaction;
      if (original !== undefined) expect(at).to.be.above(place.get(`demo:${original}`) ?? 1e9);
      const token = event.payment_method?.token;
      if (token === undefined) continue;
      expect(at).to.be.above(last.get(token) ?? -1);
      last.set(token, at);
    }
  });

  it('stop waiting when no result comes, and tell which events have none', async () => {
    const { api, keys } = await serviceThat(() => [
      200,
      {},
      {
        request_id: 'req_1',
        ingestion_id: 'ing_1',
        source_event_id: 'pay-1',
        evaluation_status: 'PENDING',
        received_at: '2026-03-10T12:00:00.000Z',
        risk: null,
      },
    ]);
    const sent = TRAFFIC.slice(0, 50).map((planned) => ({
      planned,
      ingestionId: 'ing_1',
      milliseconds: 1,
    }));
    const { evaluated, dead, unfinished } = await waitForAll(api, sent, 200, () => undefined);
    expect(evaluated).to.deep.equal([]);
    expect(dead).to.deep.equal([]);
    expect(unfinished).to.deep.equal(sent);
    expect(keys.length, 'looks at a service that is behind').to.be.at.most(2);
  });
});
