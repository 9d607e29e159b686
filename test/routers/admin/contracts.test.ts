import { expect } from 'chai';
import { NOON, refusalOf, startAdminService, type AdminService } from './admin-service.ts';

const DAY_MS = 86_400_000;
const day = (offset: number): string => new Date(NOON + offset * DAY_MS).toISOString();

describe('admin: contracts', () => {
  let service: AdminService;
  let sites = 0;
  before(async () => {
    service = await startAdminService();
  });
  after(() => service.close());
  const admin = () => service.as('administrator');

  async function newSite(): Promise<string> {
    sites += 1;
    const code = `site-${sites}`;
    await admin().sites.create({ code, name: code, customer_type: 'MULTI_MERCHANT' });
    return code;
  }
  const create = (siteCode: string, from: number, until: number, capacity = 10) =>
    admin().contracts.create({
      site_code: siteCode,
      capacity_limit: capacity,
      starts_at: day(from),
      ends_at: day(until),
    });

  it('instants of any offset are kept to the millisecond, and answered in UTC', async () => {
    const contract = await admin().contracts.create({
      site_code: await newSite(),
      capacity_limit: Number.MAX_SAFE_INTEGER,
      starts_at: '2026-03-01T00:00:00.123+09:00',
      ends_at: '2026-04-01T00:00:00-03:30',
    });
    expect(contract).to.deep.include({
      capacity_limit: Number.MAX_SAFE_INTEGER,
      starts_at: '2026-02-28T15:00:00.123Z',
      ends_at: '2026-04-01T03:30:00.000Z',
      in_force: true,
    });
  });

  it('contracts may touch but not overlap', async () => {
    const site = await newSite();
    await create(site, 0, 10);
    await create(site, 10, 20);
    await create(site, -5, 0);
    for (const [from, until] of [
      [0, 10],
      [9, 11],
      [-10, 30],
      [3, 4],
      [19.999, 21],
    ] as const) {
      const error = await refusalOf(create(site, from, until));
      expect(error.code).to.equal('CONFLICT');
      expect(error.message).to.match(
        /^It would overlap contract \d+ of Site site-\d+ \(.+\); choose another period, or move that one's end with contracts\.end\.$/,
      );
    }
    expect((await admin().contracts.list({ site_code: site })).items).to.have.length(3);
  });

  it('of overlapping contracts that are created at once, one is kept', async () => {
    const site = await newSite();
    const results = await Promise.allSettled([1, 2, 3, 4].map(() => create(site, 0, 10)));
    expect(results.filter((result) => result.status === 'fulfilled')).to.have.length(1);
  });

  it('another Site’s contracts are no obstacle and are not listed', async () => {
    const [one, other] = [await newSite(), await newSite()];
    await create(one, 0, 10, 1);
    await create(other, 0, 10, 2);
    const { items } = await service.as('viewer').contracts.list({ site_code: one });
    expect(items.map((item) => item.capacity_limit)).to.deep.equal([1]);
  });

  it('a period that ends before or when it begins is refused', async () => {
    const site = await newSite();
    for (const until of [0, -1]) {
      const error = await refusalOf(create(site, 0, until));
      expect(error.code).to.equal('BAD_REQUEST');
      expect(error.message).to.equal('starts_at must be before ends_at; correct one of them.');
    }
  });

  for (const [name, wrong] of [
    ['a negative capacity', { capacity_limit: -1 }],
    ['a broken capacity', { capacity_limit: 1.5 }],
    ['a capacity as text', { capacity_limit: '10' }],
    ['a start without offset', { starts_at: '2026-03-01T00:00:00' }],
    ['a day that does not exist', { ends_at: '2026-02-30T00:00:00Z' }],
  ] as const) {
    it(`${name} is refused`, async () => {
      const input = {
        site_code: await newSite(),
        capacity_limit: 1,
        starts_at: day(0),
        ends_at: day(1),
        ...wrong,
      };
      const error = await refusalOf(admin().contracts.create(input as never));
      expect(error.code).to.equal('BAD_REQUEST');
      expect(error.message).to.include(`${Object.keys(wrong)[0]}: must be`);
    });
  }

  it('an end may move either way, up to the next contract and back to the start', async () => {
    const site = await newSite();
    const { contract_id: id } = await create(site, -10, 10);
    await create(site, 20, 30);
    const end = (offset: number) =>
      admin().contracts.end({ contract_id: id, ends_at: day(offset) });
    expect((await end(20)).ends_at).to.equal(day(20));
    expect((await refusalOf(end(20.001))).code).to.equal('CONFLICT');
    expect((await end(0)).in_force).to.equal(false);
    expect((await end(-10)).ends_at).to.equal(day(-10));
    const error = await refusalOf(end(-11));
    expect(error.code).to.equal('BAD_REQUEST');
    expect(error.message).to.include(day(-10));
    // What was cancelled leaves its period to another.
    await create(site, -10, 20);
  });

  it('two extensions that would meet cannot both succeed', async () => {
    const site = await newSite();
    const { contract_id: id } = await create(site, 0, 1);
    const results = await Promise.allSettled([
      admin().contracts.end({ contract_id: id, ends_at: day(5) }),
      create(site, 4, 8),
    ]);
    expect(results.filter((result) => result.status === 'fulfilled')).to.have.length(1);
  });

  it('a change leaves both states in the audit', async () => {
    const site = await newSite();
    const { contract_id: id } = await create(site, 0, 1);
    await admin().contracts.end({ contract_id: id, ends_at: day(2) });
    const { items } = await service.as('viewer').audit.list({ limit: 1 });
    expect(items[0]).to.deep.include({
      procedure: 'contracts.end',
      site_code: site,
      before: { contract_id: id, capacity_limit: 10, starts_at: day(0), ends_at: day(1) },
      after: { contract_id: id, capacity_limit: 10, starts_at: day(0), ends_at: day(2) },
    });
  });

  it('an unknown contract is refused with what to do', async () => {
    for (const id of ['999999', '999999999999999999']) {
      const error = await refusalOf(admin().contracts.end({ contract_id: id, ends_at: day(0) }));
      expect(error.code).to.equal('NOT_FOUND');
      expect(error.message).to.equal(
        `There is no contract ${id}; contracts.list shows those of a Site.`,
      );
    }
  });

  it('the capacity is changed at once, audited with both values, and only while the contract lasts', async () => {
    const site = await newSite();
    const contract = await create(site, -1, 1, 10);
    const change = (capacity: number) =>
      admin().contracts.change_capacity({
        contract_id: contract.contract_id,
        capacity_limit: capacity,
        reason: 'sales grew',
      });
    expect(await change(25)).to.deep.equal({ ...contract, capacity_limit: 25 });
    expect((await admin().sites.get({ site_code: site })).contract?.capacity_limit).to.equal(25);
    const [entry] = (await admin().audit.list({ limit: 1 })).items;
    expect(entry).to.deep.include({ procedure: 'contracts.change_capacity', site_code: site });
    expect(entry?.before).to.include({ capacity_limit: 10 });
    expect(entry?.after).to.include({ capacity_limit: 25, reason: 'sales grew' });
    service.clock.at = Date.parse(day(1));
    const late = await refusalOf(change(30));
    service.clock.at = NOON;
    expect(late.code).to.equal('PRECONDITION_FAILED');
    expect(late.message).to.match(
      /^Contract \d+ ended at .+; create a new one with contracts\.create\.$/,
    );
    const unknown = await refusalOf(
      admin().contracts.change_capacity({ contract_id: '0', capacity_limit: 1, reason: 'x' }),
    );
    expect(unknown.code).to.equal('NOT_FOUND');
  });
});
