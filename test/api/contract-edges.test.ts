import { expect } from 'chai';
import { adminCalls } from '../support/admin-calls.ts';
import { eventOf, merchant, type Merchant } from '../support/merchant.ts';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';

/** An instant of May 2026 in UTC. */
const may = (day: number, hour = 0, minute = 0, second = 0, ms = 0): number =>
  Date.UTC(2026, 4, day, hour, minute, second, ms);

describe('contracts within one month, over HTTP', () => {
  let service: RunningService;
  let admin: ReturnType<typeof adminCalls>;
  let now = may(1);
  let sites = 0;

  before(async () => {
    service = await runService({ role: 'api', clock: { now: () => now } });
    admin = adminCalls(service.url, ADMIN_TOKEN);
  });
  after(() => service.stop());

  /** An approved Site with contracts of `[capacity, from, until]`, and a merchant with its key. */
  async function siteWith(
    ...contracts: readonly (readonly [capacity: number, from: number, until: number])[]
  ): Promise<{ caller: Merchant; contractIds: string[] }> {
    sites += 1;
    const site = await service.createSite({ code: `edges-${sites}`, withContract: false });
    const contractIds: string[] = [];
    for (const [capacity, from, until] of contracts) {
      const made = await admin('contracts.create', {
        site_code: site.code,
        capacity_limit: capacity,
        starts_at: new Date(from).toISOString(),
        ends_at: new Date(until).toISOString(),
      });
      contractIds.push(made['contract_id'] ?? '');
    }
    return { caller: merchant(service.url, (await site.issue()).apiKey), contractIds };
  }

  const quotaOf = async (caller: Merchant): Promise<unknown> => {
    const { limit, accepted, remaining } = (await caller.usage()).body.quota;
    return [limit, accepted, remaining];
  };
  const submit = async (caller: Merchant, times: number): Promise<number[]> => {
    const answers = await Promise.all(
      Array.from({ length: times }, () => caller.submit(eventOf())),
    );
    return answers.map(({ status }) => status).sort((a, b) => a - b);
  };

  it('a larger one raises the limit from its first millisecond; what was accepted this month goes on counting', async () => {
    const edge = may(16, 12);
    const { caller } = await siteWith([5, may(1), edge], [8, edge, may(31)]);
    now = edge - 1;
    expect(await submit(caller, 3)).to.deep.equal([202, 202, 202]);
    expect(await quotaOf(caller)).to.deep.equal([5, 3, 2]);
    now = edge;
    expect(await quotaOf(caller)).to.deep.equal([8, 3, 5]);
    expect(await submit(caller, 7)).to.deep.equal([202, 202, 202, 202, 202, 429, 429]);
    expect(await quotaOf(caller)).to.deep.equal([8, 8, 0]);
  });

  it('a smaller one refuses new events at once where more was accepted already; look-ups and labels go on', async () => {
    const edge = may(10);
    const { caller } = await siteWith([9, may(1), edge], [2, edge, may(1) + 90 * 86_400_000]);
    now = edge - 1;
    const event = eventOf();
    expect((await caller.submit(event, 'edge-key-1')).status).to.equal(202);
    expect(await submit(caller, 3)).to.deep.equal([202, 202, 202]);
    now = edge;
    expect(await quotaOf(caller)).to.deep.equal([2, 4, 0]);
    const refused = await caller.submit(eventOf());
    expect(refused.status).to.equal(429);
    expect(refused.body.error.code).to.equal('API_QUOTA_EXCEEDED');
    expect(Number(refused.headers.get('retry-after'))).to.equal(
      (Date.UTC(2026, 5, 1) - now) / 1000,
    );
    const id = String(event['source_event_id']);
    expect((await caller.risk(id)).status).to.equal(200);
    expect((await caller.label(id, { outcome_label: 'FALSE_POSITIVE' })).status).to.equal(202);
    expect((await caller.submit(event, 'edge-key-1')).status).to.equal(202);
    now = Date.UTC(2026, 5, 1);
    expect(await quotaOf(caller)).to.deep.equal([2, 0, 2]);
    expect(await submit(caller, 3)).to.deep.equal([202, 202, 429]);
  });

  it('between two contracts the key is not active, from the end of one to the start of the other exactly', async () => {
    const [end, start] = [may(5, 10, 30, 15), may(7, 0, 0, 1)];
    const { caller } = await siteWith([5, may(1), end], [5, start, may(31)]);
    for (const [at, status] of [
      [end - 1, 202],
      [end, 401],
      [start - 1, 401],
      [start, 202],
    ] as const) {
      now = at;
      expect((await caller.submit(eventOf())).status, new Date(at).toISOString()).to.equal(status);
    }
    expect(await quotaOf(caller)).to.deep.equal([5, 2, 3]);
  });

  it('a capacity that is changed mid-month counts from the next event on, in both directions', async () => {
    now = may(20);
    const { caller, contractIds } = await siteWith([2, may(1), may(31)]);
    const change = (capacity: number) =>
      admin('contracts.change_capacity', {
        contract_id: contractIds[0],
        capacity_limit: capacity,
        reason: 'test',
      });
    expect(await submit(caller, 3)).to.deep.equal([202, 202, 429]);
    await change(4);
    expect(await quotaOf(caller)).to.deep.equal([4, 2, 2]);
    expect(await submit(caller, 3)).to.deep.equal([202, 202, 429]);
    await change(1);
    expect(await quotaOf(caller)).to.deep.equal([1, 4, 0]);
    expect(await submit(caller, 2)).to.deep.equal([429, 429]);
    await change(5);
    expect(await submit(caller, 2)).to.deep.equal([202, 429]);
  });

  it('a contract that is ended ends the key at that second, and one ended at its start never was in force', async () => {
    now = may(20);
    const { caller, contractIds } = await siteWith([5, may(1), may(31)]);
    expect(await submit(caller, 1)).to.deep.equal([202]);
    const end = (at: number) =>
      admin('contracts.end', { contract_id: contractIds[0], ends_at: new Date(at).toISOString() });
    await end(may(20, 0, 0, 30));
    now = may(20, 0, 0, 29, 999);
    const deadline = performance.now() + 1_000;
    // The change is known in the process within a second; its time then decides by itself.
    while (performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await submit(caller, 1)).to.deep.equal([202]);
    now = may(20, 0, 0, 30);
    expect(await submit(caller, 1)).to.deep.equal([401]);
    await end(may(1));
    const again = await admin('contracts.create', {
      site_code: `edges-${sites}`,
      capacity_limit: 3,
      starts_at: new Date(may(1)).toISOString(),
      ends_at: new Date(may(31)).toISOString(),
    });
    expect(again['capacity_limit']).to.equal(3);
  });
});
