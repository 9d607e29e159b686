import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { withClient } from '../../bench/cluster.ts';
import { runLoad } from '../../bench/load/index.ts';
import type { LoadCredential, LoadOrder, ReferenceWrites } from '../../bench/load/protocol.ts';
import { seedSites } from '../../bench/sites.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const SITES = 4;

const order = (
  what: Pick<LoadOrder, 'target' | 'pace'> & Partial<LoadOrder>,
  credentials: readonly LoadCredential[],
): LoadOrder => ({
  traffic: { kind: 'ingest', first: 0 },
  credentials,
  sites: SITES,
  seed: 7,
  warmUpSeconds: 0.3,
  seconds: 1,
  ...what,
});

const ANYBODY: LoadCredential[] = [{ apiKey: 'trk_prod_x', siteId: '1', credentialId: '1' }];

describe('load of the bench over HTTP', () => {
  let server: Server | undefined;
  const listen = async (
    answer: () => Promise<[number, Record<string, string>]>,
  ): Promise<number> => {
    const listening = createServer((request, response) => {
      request.resume().once('end', () => {
        void answer().then(([status, headers]) => response.writeHead(status, headers).end('{}'));
      });
    });
    server = listening;
    listening.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    return (listening.address() as AddressInfo).port;
  };
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  it('at a fixed pace a stall counts for everybody who would have called meanwhile', async () => {
    let stalledUntil = 0;
    const port = await listen(async () => {
      await sleep(Math.max(0, stalledUntil - performance.now()));
      return [202, { 'Content-Length': '2' }];
    });
    const result = await runLoad(
      order(
        {
          target: { kind: 'http', port },
          pace: { kind: 'open', connections: 2, perSecond: 200 },
        },
        ANYBODY,
      ),
      // From the middle of the measured second on nobody is answered for 400 ms: 80 calls, though two lanes can carry
      // only two of them.
      {
        onMeasuring: () => setTimeout(() => (stalledUntil = performance.now() + 400), 300),
      },
    );
    expect(result.latencies.max).to.be.greaterThan(350);
    // 80 of 200 would have waited 5 to 400 ms. Lanes that only count from the moment they send see two slow calls.
    expect(result.latencies.p95).to.be.greaterThan(200);
    expect(result.accepted).to.be.within(150, 230);
    expect(result.sentLate.p50).to.be.lessThan(result.latencies.max);
  });

  it('connections that send when they are answered count every answer by its status', async () => {
    let asked = 0;
    const port = await listen(() => {
      asked += 1;
      const status = asked % 3 === 0 ? 503 : 202;
      const headers: Record<string, string> = { 'Content-Length': '2' };
      if (asked % 6 === 0) headers['Retry-After'] = '1';
      return Promise.resolve([status, headers]);
    });
    const result = await runLoad(
      order({ target: { kind: 'http', port }, pace: { kind: 'closed', connections: 3 } }, ANYBODY),
    );
    const { 202: accepted = 0, 503: refused = 0 } = result.statuses;
    expect(accepted).to.equal(result.accepted).and.to.be.greaterThan(50);
    expect(refused / (accepted + refused)).to.be.within(0.3, 0.36);
    // Every other refusal named no time; those of the warm-up count, too.
    expect(result.withoutRetryAfter).to.be.within(Math.floor(asked / 6) - 3, asked / 6 + 3);
  });
});

describe('database reference of the bench', () => {
  let database: TestDatabase;
  let credentials: LoadCredential[];

  before(async () => {
    database = await createTestDatabase();
    credentials = await withClient(database.ownerUrl, (owner) =>
      seedSites(owner, { sites: SITES, credentials: SITES * 4 }),
    );
  });
  after(() => database.drop());

  const counts = async (): Promise<Record<string, number>> => {
    const [row] = await database.query<Record<string, string>>(
      `select (select count(*) from ingestion) as ledger, (select sum(accepted) from usage_counter) as usage,
         (select count(*) from pgboss.job where name = 'evaluate') as jobs,
         (select count(*) from idempotency_key) as keys, (select count(*) from ingestion_payload) as payloads`,
    );
    return Object.fromEntries(Object.entries(row ?? {}).map(([name, n]) => [name, Number(n)]));
  };

  let first = 0;
  for (const [writes, all] of [
    ['plain', false],
    ['single', false],
    ['full', true],
  ] as const satisfies [ReferenceWrites, boolean][]) {
    it(`each transaction of the form "${writes}" leaves what it says, once`, async () => {
      const before = await counts();
      const result = await runLoad(
        order(
          {
            target: { kind: 'postgres', url: database.appUrl, writes },
            traffic: { kind: 'ingest', first },
            pace: { kind: 'closed', connections: 4 },
            warmUpSeconds: 0.1,
            seconds: 0.4,
          },
          credentials,
        ),
      );
      const after = await counts();
      const grown = (what: string): number => (after[what] ?? 0) - (before[what] ?? 0);
      // Those of the warm-up and those under way at the end are not counted as accepted.
      expect(grown('ledger')).to.equal(result.next - first);
      expect(result.accepted).to.be.within(1, grown('ledger'));
      expect(Object.keys(result.statuses)).to.deep.equal(['202']);
      expect([grown('usage'), grown('jobs')]).to.deep.equal([grown('ledger'), grown('ledger')]);
      const further = all ? grown('ledger') : 0;
      expect([grown('keys'), grown('payloads')]).to.deep.equal([further, further]);
      first = result.next;
    });
  }
});
