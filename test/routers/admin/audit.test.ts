import { expect } from 'chai';
import { NOON, refusalOf, startAdminService, type AdminService } from './admin-service.ts';

describe('admin: audit and events', () => {
  let service: AdminService;
  const viewer = () => service.as('viewer');

  before(async () => {
    service = await startAdminService();
    const admin = service.as('administrator');
    for (const code of ['alpha', 'beta']) {
      await admin.sites.create({ code, name: code, customer_type: 'MULTI_MERCHANT' });
      service.clock.at += 1_000;
      for (const gate of ['QUALITY', 'SECURITY'] as const) {
        await admin.gates.record({ site_code: code, gate, result: 'PASSED', evidence: 'r' });
      }
      service.clock.at += 1_000;
      await admin.contracts.create({
        site_code: code,
        capacity_limit: 7,
        starts_at: '2026-03-01T00:00:00Z',
        ends_at: '2026-04-01T00:00:00Z',
      });
      await admin.sites.approve({ site_code: code });
      await service.as('operator').sites.suspend({ site_code: code, reason: `why ${code}` });
      service.clock.at += 1_000;
    }
  });
  after(() => service.close());

  type Search = Parameters<ReturnType<AdminService['as']>['audit']['list']>[0];
  const found = async (search: Search): Promise<string[]> => {
    const { items } = await viewer().audit.list(search);
    return items.map((item) => `${item.procedure} ${item.site_code}`);
  };

  it('says who, with which role, from where, what, before and after', async () => {
    const [newest] = (await viewer().audit.list({ limit: 1 })).items;
    expect(newest).to.deep.include({
      at: new Date(NOON + 5_000).toISOString(),
      actor: 'a operator',
      role: 'operator',
      address: '192.0.2.7',
      procedure: 'sites.suspend',
      site_code: 'beta',
      before: { state: 'ACTIVE' },
      after: { state: 'SUSPENDED', reason: 'why beta' },
    });
  });

  it('is searched by actor, procedure, router, Site, address, time and facts', async () => {
    expect(await found({ actor: 'a operator' })).to.deep.equal([
      'sites.suspend beta',
      'sites.suspend alpha',
    ]);
    expect(await found({ actor: 'nobody' })).to.deep.equal([]);
    expect(await found({ procedure: 'sites.create' })).to.deep.equal([
      'sites.create beta',
      'sites.create alpha',
    ]);
    expect(await found({ procedure: 'sites', site_code: 'alpha' })).to.deep.equal([
      'sites.suspend alpha',
      'sites.approve alpha',
      'sites.create alpha',
    ]);
    expect(await found({ procedure: 'site' })).to.deep.equal([]);
    expect(await found({ address: '192.0.2.8' })).to.deep.equal([]);
    expect(await found({ address: '192.0.2.7', limit: 500 })).to.have.length(12);
    expect(await found({ facts: { contract_id: '2' } })).to.deep.equal(['contracts.create beta']);
    expect(await found({ facts: { capacity_limit: 7 } })).to.have.length(2);
    expect(await found({ facts: { state: 'ACTIVE' }, site_code: 'alpha' })).to.deep.equal([
      'sites.suspend alpha',
      'sites.approve alpha',
    ]);
    const at = (offset: number): string => new Date(NOON + offset).toISOString();
    expect(await found({ from: at(1_000), to: at(2_000) })).to.deep.equal([
      'gates.record alpha',
      'gates.record alpha',
    ]);
  });

  it('pages hold each entry once, newest first, also under a filter and within one instant', async () => {
    for (const [search, count] of [
      [{}, 12],
      [{ site_code: 'alpha' }, 6],
    ] as const) {
      const ids: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<ReturnType<AdminService['as']>['audit']['list']>> =
          await viewer().audit.list({
            ...search,
            limit: 2,
            ...(cursor === null ? {} : { cursor }),
          });
        ids.push(...page.items.map((item) => item.audit_entry_id));
        ({ next_cursor: cursor } = page);
      } while (cursor !== null);
      expect(ids).to.have.length(count);
      expect(ids).to.deep.equal([...new Set(ids)].sort((a, b) => Number(b) - Number(a)));
    }
  });

  it('wrong searches are refused by field', async () => {
    for (const [name, search] of [
      ['procedure', { procedure: "x' or 1=1" }],
      ['cursor', { cursor: '12' }],
      ['facts', { facts: { 'a b': 1 } }],
      ['from', { from: 'yesterday' }],
    ] as const) {
      const error = await refusalOf(viewer().audit.list(search));
      expect(error.message).to.match(new RegExp(`^The input is wrong: ${name}`));
    }
  });

  it('events tell of suspensions, by Site, kind and time, newest first', async () => {
    const all = (await viewer().events.list({})).items;
    expect(all.map(({ kind, site_code: code }) => `${kind} ${code}`)).to.deep.equal([
      'site_suspended beta',
      'site_suspended alpha',
    ]);
    expect(all[0]).to.deep.include({
      subject: 'site beta',
      detail: { state: 'SUSPENDED', by: 'a operator' },
      at: new Date(NOON + 5_000).toISOString(),
    });
    const kinds = async (
      search: Parameters<ReturnType<AdminService['as']>['events']['list']>[0],
    ): Promise<(string | null)[]> =>
      (await viewer().events.list(search)).items.map((item) => item.site_code);
    expect(await kinds({ site_code: 'alpha' })).to.deep.equal(['alpha']);
    expect(await kinds({ kind: 'gate_failed' })).to.deep.equal([]);
    expect(await kinds({ kind: 'site_suspended', limit: 1 })).to.deep.equal(['beta']);
    const first = await viewer().events.list({ limit: 1 });
    expect(await kinds({ cursor: first.next_cursor ?? '' })).to.deep.equal(['alpha']);
    expect(await kinds({ from: new Date(NOON + 3_000).toISOString() })).to.deep.equal(['beta']);
    expect((await refusalOf(viewer().events.list({ site_code: 'gamma' }))).code).to.equal(
      'NOT_FOUND',
    );
  });
});
