import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { operationsOf, type Operation } from '../../openapi/operations.ts';
import { v1Router } from '../../routers/v1/router.ts';
import { expectBody } from '../support/bodies.ts';
import { keysOf } from '../support/keys.ts';
import { ledgerRows } from '../support/ledger-counts.ts';
import { eventOf, merchant, type Answer, type Merchant } from '../support/merchant.ts';
import { runService, type RunningService } from '../support/running-service.ts';
import type { TestSite } from '../support/site.ts';

const OPERATIONS = operationsOf(v1Router);

/** A body with which a call of an operation could succeed; an operation added later must be added here. */
const BODIES: Record<string, () => unknown> = {
  submitTransaction: () => eventOf(),
  appendTransactionOutcome: () => ({ outcome_label: 'FRAUD_CONFIRMED' }),
};

describe('neighbours cannot see each other', () => {
  let service: RunningService;
  let ownerSite: TestSite;
  let strangerSite: TestSite;
  let owner: Merchant;
  let stranger: Merchant;
  /** What the owner has: values of path parameters that name something of theirs. */
  let theirs: Record<string, string[]>;
  const missing: Record<string, string> = {
    ingestionId: 'ing_999999999',
    sourceEventId: `nothing-${randomUUID()}`,
  };
  const tid = `tid-${randomUUID()}`;
  const event = eventOf();
  const original = String(event['source_event_id']);

  before(async () => {
    service = await runService();
    ownerSite = await service.createSite();
    strangerSite = await service.createSite();
    owner = merchant(service.url, keysOf(ownerSite));
    stranger = merchant(service.url, keysOf(strangerSite));
    const accepted = await owner.submit(event);
    const withTid = await owner.submit(eventOf({ transaction: { tid } }));
    await owner.evaluated(String(accepted.body.ingestion_id));
    await owner.label(original, { outcome_label: 'FRAUD_CONFIRMED' });
    theirs = {
      ingestionId: [String(accepted.body.ingestion_id), String(withTid.body.ingestion_id)],
      sourceEventId: [original, tid],
    };
  });

  after(() => service.stop());

  const call = (
    caller: Merchant,
    operation: Operation,
    id?: string,
    key?: string,
  ): Promise<Answer> => {
    const path = operation.path.template.replace(/\{\w+\}/, encodeURIComponent(id ?? ''));
    if (operation.method === 'GET') return caller.call('GET', path);
    const body = BODIES[operation.operationId];
    if (body === undefined) throw new Error(`${operation.operationId} needs a body in this test`);
    return caller.call('POST', path, {
      headers: { 'content-type': 'application/json', 'idempotency-key': key ?? randomUUID() },
      body: JSON.stringify(body()),
    });
  };

  /** All of an answer that does not differ from call to call. */
  const told = ({ status, headers, body }: Answer): unknown => {
    const varying = new Set(['x-request-id', 'date', 'ratelimit']);
    const kept = [...headers].filter(([name]) => !varying.has(name));
    return { status, headers: kept, body: { ...body, request_id: '' } };
  };

  for (const operation of OPERATIONS) {
    const [parameter] = operation.path.parameters;
    if (parameter === undefined) continue;
    it(`${operation.operationId}: another Site's ${parameter} is answered exactly like a missing one`, async () => {
      expect(Object.keys(missing), `${parameter} needs values in this test`).to.include(parameter);
      const nothing = await call(stranger, operation, missing[parameter]);
      expect(nothing.status).to.equal(404);
      for (const id of theirs[parameter] ?? []) {
        expect((await call(owner, operation, id)).status, 'its owner').to.be.oneOf([200, 202]);
        expect(told(await call(stranger, operation, id)), id).to.deep.equal(told(nothing));
      }
    });
  }

  it('every operation without an id speaks of the own Site only', async () => {
    const without = OPERATIONS.filter(({ path }) => path.parameters.length === 0);
    expect(without.map(({ operationId }) => operationId)).to.have.members([
      'submitTransaction',
      'getApiUsage',
    ]);
    const usage = await stranger.usage();
    expectBody(usage, 200, 'ProductionUsage');
    expect(usage.body.quota.accepted).to.equal(0);
  });

  it("an event with another Site's ids and key is new: no replay, no conflict", async () => {
    const key = randomUUID();
    const first = await owner.submit(event, key);
    expect(first.headers.get('idempotent-replayed')).to.equal('true');
    for (const [sent, use] of [
      [{ ...event, source_system: 'other' }, key],
      [eventOf({ transaction: { tid } }), randomUUID()],
    ] as const) {
      const answer = await stranger.submit(sent, use);
      expectBody(answer, 202, 'AcceptedIngestion');
      expect(answer.headers.get('idempotent-replayed')).to.equal(null);
      expect(answer.body.ingestion_id).to.not.be.oneOf(theirs['ingestionId'] ?? []);
    }
    expect(await ledgerRows(service, ownerSite)).to.equal(2);
  });

  it("a refund of another Site's payment is judged like one of a payment nobody knows", async () => {
    const site = await service.createSite();
    const caller = merchant(service.url, keysOf(site));
    const refundOf = async (original_event_id: string): Promise<Answer> => {
      const refund = eventOf({
        event_type: 'PAYMENT_REFUND',
        transaction: { type: 'REFUND', status: 'REVERSED', original_event_id },
      });
      const { body } = await caller.submit(refund);
      return caller.evaluated(String(body.ingestion_id));
    };
    const foreign = (await refundOf(original)).body.risk;
    const unknown = (await refundOf('nobody-knows')).body.risk;
    const { evaluated_at: _one, ...ofForeign } = foreign;
    const { evaluated_at: _two, ...ofUnknown } = unknown;
    expect(ofForeign).to.deep.equal(ofUnknown);
  });

  it("another Site's history and labels weigh nothing", async () => {
    const parts = {
      payment_method: { type: 'CARD', token: `tok-${randomUUID()}` },
      customer: { customer_id: `c-${randomUUID()}` },
      device: { device_id: `d-${randomUUID()}` },
      network: { ip_prefix: '203.0.113.0/24', country: 'KR' },
    };
    for (let i = 0; i < 12; i++) {
      const burst = eventOf({ ...parts, transaction: { status: 'DECLINED' } });
      const { body } = await owner.submit(burst);
      await owner.evaluated(String(body.ingestion_id));
      await owner.label(String(burst['source_event_id']), { outcome_label: 'FRAUD_CONFIRMED' });
    }
    const judged = async (caller: Merchant): Promise<{ score: number; reasons: string[] }> => {
      const { body } = await caller.submit(eventOf(parts));
      const risk = (await caller.evaluated(String(body.ingestion_id))).body.risk;
      return { score: risk.score, reasons: risk.reasons };
    };
    const untouched = merchant(service.url, keysOf(await service.createSite()));
    const fresh = merchant(service.url, keysOf(await service.createSite()));
    const before = await judged(untouched);
    expect(await judged(fresh)).to.deep.equal(before);
    expect((await judged(owner)).score, 'at home it weighs').to.be.above(before.score);
  });
});
