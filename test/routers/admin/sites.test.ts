import { expect } from 'chai';
import {
  createActiveSite,
  NOON,
  refusalOf,
  startAdminService,
  type AdminService,
} from './admin-service.ts';

describe('admin: sites and gates', () => {
  let service: AdminService;
  before(async () => {
    service = await startAdminService();
  });
  after(() => service.close());
  const admin = () => service.as('administrator');

  const create = (code: string) =>
    admin().sites.create({ code, name: 'Acme', customer_type: 'SINGLE_COMPANY' });

  it('a created Site is shown without its opaque subject', async () => {
    const site = await create('acme');
    expect(site).to.deep.equal({
      code: 'acme',
      name: 'Acme',
      customer_type: 'SINGLE_COMPANY',
      state: 'CREATED',
      gates: { QUALITY: null, SECURITY: null },
      contract: null,
      approved_at: null,
      suspended_at: null,
      suspended_reason: null,
      created_at: new Date(NOON).toISOString(),
      payload_retention_days: null,
    });
    expect(await service.as('viewer').sites.get({ site_code: 'acme' })).to.deep.equal(site);
    const [stored] = await service.database.query<{ default_subject: string }>(
      `select default_subject from site where code = 'acme'`,
    );
    expect(stored?.default_subject).to.match(/^sub_[0-9a-f]{32}$/);
  });

  it('text with quotes, backslashes, question marks and emoji is kept as it is', async () => {
    const name = `O'Hara \\ "Söhne" ? $1 :x 🛒 %s`;
    const site = await admin().sites.create({
      code: 'odd-name',
      name,
      customer_type: 'MULTI_MERCHANT',
    });
    expect(site.name).to.equal(name);
  });

  it('a code that is taken is refused', async () => {
    await create('twice');
    const error = await refusalOf(create('twice'));
    expect(error.code).to.equal('CONFLICT');
    expect(error.message).to.equal('A Site twice exists already; choose another code.');
  });

  it('two creations of one code at once leave one Site and one audit row', async () => {
    const results = await Promise.allSettled([create('race'), create('race'), create('race')]);
    expect(results.filter((result) => result.status === 'fulfilled')).to.have.length(1);
    const rows = await service.database.query(`select 1 from audit_entry where site_code = 'race'`);
    expect(rows).to.have.length(1);
  });

  for (const code of ['A', 'a', 'Acme', '-ab', 'ab-', 'a b', 'a_b', 'x'.repeat(41), '']) {
    it(`the code "${code}" is refused`, async () => {
      const error = await refusalOf(create(code));
      expect(error.code).to.equal('BAD_REQUEST');
      expect(error.message).to.match(/^The input is wrong: code: must /);
    });
  }

  it('wrong input is worded by field, without values, and writes nothing', async () => {
    const input = { code: 'Not-A-Slug', name: '', customer_type: 'BOTH', secret_extra: 1 };
    const error = await refusalOf(admin().sites.create(input as never));
    expect(error.code).to.equal('BAD_REQUEST');
    expect(error.message).to.include('customer_type: must be one of');
    expect(error.message).to.not.match(/Not-A-Slug|BOTH|secret_extra/);
    expect(await service.database.query(`select 1 from site where name = ''`)).to.have.length(0);
  });

  it('what must not be stored is refused in administrative texts, too', async () => {
    await create('careful');
    const record = (evidence: string) =>
      admin().gates.record({ site_code: 'careful', gate: 'QUALITY', result: 'PASSED', evidence });
    for (const evidence of ['card 4111 1111 1111 1111', 'a\u0000b', 'lone \ud800']) {
      const error = await refusalOf(record(evidence));
      expect(error.code).to.equal('BAD_REQUEST');
      expect(error.message).to.not.include('4111');
    }
  });

  it('an unknown Site is refused with what to do', async () => {
    for (const call of [
      () => service.as('viewer').sites.get({ site_code: 'nowhere' }),
      () => admin().sites.approve({ site_code: 'nowhere' }),
      () =>
        admin().gates.record({
          site_code: 'nowhere',
          gate: 'QUALITY',
          result: 'PASSED',
          evidence: 'x',
        }),
      () => service.as('viewer').gates.list({ site_code: 'nowhere' }),
    ]) {
      const error = await refusalOf(call());
      expect(error.code).to.equal('NOT_FOUND');
      expect(error.message).to.equal(
        'There is no Site nowhere; sites.list shows all, sites.create makes one.',
      );
    }
  });

  it('approval is refused until both gates passed and a contract is in force, each named', async () => {
    await create('steps');
    const approve = () => admin().sites.approve({ site_code: 'steps' });
    const record = (gate: 'QUALITY' | 'SECURITY', result: 'PASSED' | 'FAILED') =>
      admin().gates.record({ site_code: 'steps', gate, result, evidence: 'report' });
    const first = await refusalOf(approve());
    expect(first.code).to.equal('PRECONDITION_FAILED');
    expect(first.message).to.equal(
      'Site steps cannot be approved: the QUALITY gate has no PASSED record (gates.record), ' +
        'the SECURITY gate has no PASSED record (gates.record), no contract is in force (contracts.create).',
    );
    await record('QUALITY', 'PASSED');
    await record('SECURITY', 'PASSED');
    await record('SECURITY', 'FAILED');
    // One that has ended and one that has not begun are not in force.
    await admin().contracts.create({
      site_code: 'steps',
      capacity_limit: 1,
      starts_at: '2026-03-01T00:00:00Z',
      ends_at: new Date(NOON).toISOString(),
    });
    await admin().contracts.create({
      site_code: 'steps',
      capacity_limit: 1,
      starts_at: new Date(NOON + 1).toISOString(),
      ends_at: '2026-05-01T00:00:00+09:00',
    });
    expect((await refusalOf(approve())).message).to.equal(
      'Site steps cannot be approved: the newest record of the SECURITY gate is FAILED (gates.record), no contract is in force (contracts.create).',
    );
    await record('SECURITY', 'PASSED');
    service.clock.at = NOON + 1;
    const site = await approve();
    expect(site.state).to.equal('ACTIVE');
    expect(site.approved_at).to.equal(new Date(NOON + 1).toISOString());
    const again = await refusalOf(approve());
    expect(again.code).to.equal('CONFLICT');
    service.clock.at = NOON;
  });

  it('the state follows approval, gates, contract and suspension', async () => {
    await createActiveSite(admin(), 'stately');
    const site = { site_code: 'stately' };
    const state = async () => (await admin().sites.get(site)).state;
    const record = (result: 'PASSED' | 'FAILED') =>
      admin().gates.record({ ...site, gate: 'SECURITY', result, evidence: 'again' });
    expect(await state()).to.equal('ACTIVE');
    service.clock.at = Date.UTC(2026, 3, 1);
    expect(await state()).to.equal('APPROVED_WITHOUT_CONTRACT');
    await record('FAILED');
    expect(await state()).to.equal('GATE_FAILED');
    service.clock.at = NOON;
    expect(await state()).to.equal('GATE_FAILED');
    await service.as('operator').sites.suspend({ ...site, reason: 'looked at' });
    expect(await state()).to.equal('SUSPENDED');
    await record('PASSED');
    expect(await state()).to.equal('SUSPENDED');
    await admin().sites.resume({ ...site, reason: 'mended' });
    expect(await state()).to.equal('ACTIVE');
  });

  it('a suspension is shown with its reason, told to operators, and ended by a resumption', async () => {
    await createActiveSite(admin(), 'pausing');
    const site = { site_code: 'pausing' };
    const suspended = await service.as('operator').sites.suspend({ ...site, reason: 'card tests' });
    expect(suspended).to.deep.include({
      state: 'SUSPENDED',
      suspended_at: new Date(NOON).toISOString(),
      suspended_reason: 'card tests',
    });
    const resumed = await admin().sites.resume({ ...site, reason: 'merchant answered' });
    expect(resumed).to.deep.include({
      state: 'ACTIVE',
      suspended_at: null,
      suspended_reason: null,
    });
    const { items } = await service.as('viewer').events.list(site);
    expect(items.map((item) => item.kind)).to.deep.equal(['site_resumed', 'site_suspended']);
  });

  it('suspend and resume keep to their order, and say what is missing', async () => {
    await create('unready');
    const site = { site_code: 'unready', reason: 'why' };
    const early = await refusalOf(admin().sites.suspend(site));
    expect(early.code).to.equal('PRECONDITION_FAILED');
    expect(early.message).to.match(/^Site unready is not approved yet/);
    await createActiveSite(admin(), 'ordered');
    const ordered = { site_code: 'ordered', reason: 'why' };
    expect((await refusalOf(admin().sites.resume(ordered))).message).to.equal(
      'Site ordered is not suspended; sites.get shows where it stands.',
    );
    await admin().sites.suspend(ordered);
    const twice = await refusalOf(admin().sites.suspend(ordered));
    expect(twice.code).to.equal('CONFLICT');
    await admin().gates.record({
      site_code: 'ordered',
      gate: 'QUALITY',
      result: 'FAILED',
      evidence: 'r',
    });
    const held = await refusalOf(admin().sites.resume(ordered));
    expect(held.code).to.equal('PRECONDITION_FAILED');
    expect(held.message).to.equal(
      'Site ordered cannot be resumed: the newest record of the QUALITY gate is FAILED (gates.record).',
    );
  });

  it('a gate that fails after the approval is told to operators; before it is not', async () => {
    await create('failing');
    const record = () =>
      admin().gates.record({
        site_code: 'failing',
        gate: 'QUALITY',
        result: 'FAILED',
        evidence: 'r',
      });
    const kinds = async () =>
      (await service.as('viewer').events.list({ site_code: 'failing' })).items.map(
        ({ kind, detail }) => `${kind} ${String(detail['gate'])}`,
      );
    await record();
    expect(await kinds()).to.deep.equal([]);
    await service.database.query(`update site set approved_at = now() where code = 'failing'`);
    await record();
    expect(await kinds()).to.deep.equal(['gate_failed QUALITY']);
  });

  it('the gate history of one Site is listed newest first, in pages, without its neighbours', async () => {
    await create('history');
    await create('history-2');
    for (let count = 1; count <= 5; count += 1) {
      for (const siteCode of ['history', 'history-2']) {
        await admin().gates.record({
          site_code: siteCode,
          gate: 'QUALITY',
          result: 'PASSED',
          evidence: `${siteCode} ${count}`,
        });
      }
    }
    const seen: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await service.as('viewer').gates.list({
        site_code: 'history',
        limit: 2,
        ...(cursor === undefined || cursor === null ? {} : { cursor }),
      });
      seen.push(...page.items.map((item) => item.evidence));
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(seen).to.deep.equal([5, 4, 3, 2, 1].map((count) => `history ${count}`));
  });

  it('pages of Sites hold each Site once, in order', async () => {
    const codes: string[] = [];
    let cursor: string | undefined;
    for (;;) {
      const page = await admin().sites.list(
        cursor === undefined ? { limit: 3 } : { limit: 3, cursor },
      );
      codes.push(...page.items.map((site) => site.code));
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    const rows = await service.database.query<{ code: string }>('select code from site order by 1');
    expect(codes).to.deep.equal(rows.map((row) => row.code));
  });
});
