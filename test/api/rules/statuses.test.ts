import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { expectBody, expectError, type BodyName } from '../../support/bodies.ts';
import { createTestDatabase } from '../../support/database.ts';
import { proxyDatabase, type DatabaseProxy } from '../../support/database-proxy.ts';
import { keysOf } from '../../support/keys.ts';
import { eventOf, merchant, type Answer, type Merchant } from '../../support/merchant.ts';
import { runService, type RunningService } from '../../support/running-service.ts';
import type { TestSite } from '../../support/site.ts';

/** Every operation as a call about one transaction, and what it answers when all is well. */
const OPERATIONS: Record<
  string,
  {
    readonly call: (caller: Merchant, of: { id: string; ingestion: string }) => Promise<Answer>;
    readonly status: number;
    readonly body: BodyName;
    readonly permission?: string;
    readonly missing?: 'INGESTION_NOT_FOUND' | 'TRANSACTION_NOT_FOUND';
  }
> = {
  submitTransaction: {
    call: (caller) => caller.submit(eventOf()),
    status: 202,
    body: 'AcceptedIngestion',
    permission: 'ingest',
  },
  getIngestion: {
    call: (caller, { ingestion }) => caller.ingestion(ingestion),
    status: 200,
    body: 'IngestionStatus',
    permission: 'read',
    missing: 'INGESTION_NOT_FOUND',
  },
  getTransactionRisk: {
    call: (caller, { id }) => caller.risk(id),
    status: 200,
    body: 'TransactionRiskStatus',
    permission: 'read',
    missing: 'TRANSACTION_NOT_FOUND',
  },
  appendTransactionOutcome: {
    call: (caller, { id }) => caller.label(id, { outcome_label: 'CHARGEBACK_CONFIRMED' }),
    status: 202,
    body: 'OutcomeLabelAccepted',
    permission: 'label',
    missing: 'TRANSACTION_NOT_FOUND',
  },
  getApiUsage: {
    call: (caller) => caller.usage(),
    status: 200,
    body: 'ProductionUsage',
  },
};

describe('every status of every operation, with its exact body (section 4)', () => {
  let proxy: DatabaseProxy;
  let service: RunningService;
  let site: TestSite;
  let caller: Merchant;
  const event = eventOf();
  const of = { id: String(event['source_event_id']), ingestion: '' };

  before(async () => {
    proxy = await proxyDatabase(await createTestDatabase());
    service = await runService({ database: proxy.database });
    site = await service.createSite();
    caller = merchant(service.url, keysOf(site));
    const { body } = await caller.submit(event);
    of.ingestion = String(body.ingestion_id);
    await caller.evaluated(of.ingestion);
  });

  after(async () => {
    await service.stop();
    await proxy.close();
    await proxy.database.drop();
  });

  for (const [name, { call, status, body, permission, missing }] of Object.entries(OPERATIONS)) {
    describe(name, () => {
      it(`${status} with ${body}`, async () => {
        const answer = await call(caller, of);
        expectBody(answer, status, body);
        expect(answer.headers.get('ratelimit-policy')).to.equal('"credential";q=120;w=60');
        expect(answer.headers.get('ratelimit')).to.match(/^"credential";r=\d+;t=\d+$/);
      });

      it('401 without an active credential', async () => {
        expectError(await call(merchant(service.url), of), 'UNAUTHORIZED');
        const suspended = await service.createSite({ approved: false });
        const { apiKey } = await suspended.issue();
        expectError(await call(merchant(service.url, apiKey), of), 'UNAUTHORIZED');
      });

      if (permission !== undefined) {
        it(`403 for a credential without the permission ${permission}`, async () => {
          const permissions = ['ingest', 'read', 'label'].filter((each) => each !== permission);
          const { apiKey } = await site.issue({ permissions });
          expectError(await call(merchant(service.url, apiKey), of), 'FORBIDDEN');
        });
      }

      if (missing !== undefined) {
        it(`404 ${missing} for what is not there, and for every sandbox credential`, async () => {
          expectError(await call(caller, { id: 'nothing', ingestion: 'ing_1' }), missing);
          const { apiKey } = await site.issue({ environment: 'sandbox' });
          expectError(await call(merchant(service.url, apiKey), of), missing);
        });
      }

      it('429 RATE_LIMITED past 120 calls in a minute, with the wait', async () => {
        const busy = merchant(service.url, (await site.issue()).apiKey);
        await Promise.all(Array.from({ length: 120 }, () => busy.ingestion('x')));
        const refused = await call(busy, of);
        expectError(refused, 'RATE_LIMITED');
        expect(refused.headers.get('retry-after')).to.match(/^[1-9]\d?$/);
        expect(refused.headers.get('ratelimit')).to.equal(
          `"credential";r=0;t=${refused.headers.get('retry-after')}`,
        );
      });
    });
  }

  it('submitTransaction: 429 API_QUOTA_EXCEEDED with the start of the next UTC month', async () => {
    const small = await service.createSite({ capacity: 1 });
    const one = merchant(service.url, keysOf(small));
    expectBody(await one.submit(eventOf()), 202, 'AcceptedIngestion');
    const refused = await one.submit(eventOf());
    expectError(refused, 'API_QUOTA_EXCEEDED');
    expect(refused.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
  });

  it('submitTransaction: 200 with SandboxSimulation and getApiUsage: 200 with SandboxUsage', async () => {
    const sandbox = merchant(service.url, keysOf(site, { environment: 'sandbox' }));
    expectBody(await sandbox.submit(eventOf()), 200, 'SandboxSimulation');
    expectBody(await sandbox.usage(), 200, 'SandboxUsage');
    expectError(await sandbox.submit({}), 'CONTRACT_VALIDATION_FAILED');
  });

  it('both operations that write: 409 for a key with another payload', async () => {
    const key = randomUUID();
    expectBody(await caller.submit(event, key), 202, 'AcceptedIngestion');
    expectError(await caller.submit(eventOf(), key), 'IDEMPOTENCY_CONFLICT');
    expectError(
      await caller.submit(eventOf({ source_event_id: of.id, source_system: 'other' })),
      'IDEMPOTENCY_CONFLICT',
    );
    expectBody(
      await caller.label(of.id, { outcome_label: 'FALSE_POSITIVE' }, key),
      202,
      'OutcomeLabelAccepted',
    );
    expectError(
      await caller.label(of.id, { outcome_label: 'FRAUD_CONFIRMED' }, key),
      'IDEMPOTENCY_CONFLICT',
    );
  });

  it('every operation: 503 with Retry-After while the database is away, and none is lost after it', async () => {
    const { apiKey } = await site.issue();
    const steady = merchant(service.url, apiKey);
    const key = randomUUID();
    const kept = eventOf();
    expectBody(await steady.usage(), 200, 'ProductionUsage');
    await proxy.cut();
    try {
      for (const [name, { call }] of Object.entries(OPERATIONS)) {
        const refused = await call(steady, of);
        expect(refused.status, name).to.equal(503);
        expectError(refused, 'INGESTION_UNAVAILABLE');
        expect(refused.headers.get('retry-after'), name).to.match(/^[1-9]\d*$/);
      }
      expectError(await steady.submit(kept, key), 'INGESTION_UNAVAILABLE');
      const unknown = merchant(service.url, `trk_prod_${'a'.repeat(8)}_${'b'.repeat(43)}`);
      expectError(await unknown.usage(), 'INGESTION_UNAVAILABLE');
      expect((await fetch(`${service.url}/readyz`)).status).to.equal(503);
      expect((await fetch(`${service.url}/healthz`)).status).to.equal(200);
    } finally {
      await proxy.restore();
    }
    for (let tries = 0; ; tries++) {
      const answer = await steady.submit(kept, key);
      if (answer.status === 202) break;
      expect(tries, 'it does not recover').to.be.below(50);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    const fresh = merchant(service.url, keysOf(site));
    for (const { call, status, body } of Object.values(OPERATIONS)) {
      expectBody(await call(fresh, of), status, body);
    }
  });
});
