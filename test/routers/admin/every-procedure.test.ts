import { expect } from 'chai';
import { operationsOf } from '../../../openapi/operations.ts';
import { listProcedures } from '../../../routers/admin/procedure-list.ts';
import type { Role } from '../../../routers/procedure.ts';
import { v1Router } from '../../../routers/v1/router.ts';
import { NOON, refusalOf, startAdminService, type AdminService } from './admin-service.ts';

const PROCEDURES = listProcedures();
const PATHS = PROCEDURES.map(({ path }) => path);
const pathsOf = (wanted: 'query' | 'mutation') =>
  PROCEDURES.filter(({ type }) => type === wanted).map(({ path }) => path);

/** What a role may do at most one level above it; an administrator may do everything. */
const ROLES = ['viewer', 'operator', 'administrator'] as const satisfies readonly Role[];

/** Who may call what: a procedure that is missing here fails the first test below. */
const LOWEST_ROLE: Record<string, Role> = {
  'sites.create': 'administrator',
  'sites.get': 'viewer',
  'sites.list': 'viewer',
  'sites.approve': 'administrator',
  'gates.record': 'administrator',
  'gates.list': 'viewer',
  'contracts.create': 'administrator',
  'contracts.list': 'viewer',
  'contracts.end': 'administrator',
  'credentials.issue': 'administrator',
  'credentials.rotate': 'administrator',
  'credentials.revoke': 'administrator',
  'credentials.list': 'viewer',
  'dead_letters.list': 'viewer',
  'dead_letters.preview': 'viewer',
  'dead_letters.redrive': 'operator',
  'audit.list': 'viewer',
};

/** A call of every mutation that succeeds, in an order in which each can; ids are those of an empty database. */
const MUTATIONS: [path: string, input: Record<string, unknown>][] = [
  ['sites.create', { code: 'walk', name: 'Walk', customer_type: 'SINGLE_COMPANY' }],
  ['gates.record', { site_code: 'walk', gate: 'QUALITY', result: 'PASSED', evidence: 'r1' }],
  ['gates.record', { site_code: 'walk', gate: 'SECURITY', result: 'PASSED', evidence: 'r2' }],
  [
    'contracts.create',
    {
      site_code: 'walk',
      capacity_limit: 5,
      starts_at: '2026-03-01T00:00:00Z',
      ends_at: '2026-04-01T00:00:00Z',
    },
  ],
  ['sites.approve', { site_code: 'walk' }],
  ['contracts.end', { contract_id: '1', ends_at: '2026-05-01T00:00:00Z' }],
  ['credentials.issue', { site_code: 'walk', environment: 'production', label: 'a' }],
  ['credentials.rotate', { credential_id: '1', overlap_seconds: 60 }],
  ['credentials.revoke', { credential_id: '1' }],
  ['dead_letters.redrive', { filter: {}, reason: 'walk' }],
];

describe('admin: every procedure', () => {
  let service: AdminService;
  before(async () => {
    service = await startAdminService();
  });
  after(() => service.close());

  function call(role: Role | null, path: string, input: unknown): Promise<unknown> {
    const [router = '', procedure = ''] = path.split('.');
    const routers = service.as(role) as unknown as Record<
      string,
      Record<string, (input: unknown) => Promise<unknown>>
    >;
    return routers[router]?.[procedure]?.(input) ?? Promise.reject(new Error(`no ${path}`));
  }

  it('is in the table of roles', () => {
    expect(PATHS.sort()).to.deep.equal(Object.keys(LOWEST_ROLE).sort());
  });

  it('is not reachable over the public interface', () => {
    const published = operationsOf(v1Router).map((operation) => operation.procedure);
    for (const { path, hasRestPath } of PROCEDURES) {
      expect(hasRestPath, path).to.equal(false);
      expect(published).to.not.include(path);
    }
  });

  for (const { path, hasOutput } of PROCEDURES) {
    it(`${path} refuses who is no operator, before looking at the input`, async () => {
      const error = await refusalOf(call(null, path, { wrong: true }));
      expect(error.code).to.equal('UNAUTHORIZED');
    });

    it(`${path} refuses every role below its own and lets the others in`, async () => {
      const lowest = LOWEST_ROLE[path] ?? 'administrator';
      for (const role of ROLES) {
        // Wrong input: whoever is let in gets to hear of it.
        const error = await refusalOf(call(role, path, { wrong: true }));
        const below = ROLES.indexOf(role) < ROLES.indexOf(lowest);
        expect(error.code, role).to.equal(below ? 'FORBIDDEN' : 'BAD_REQUEST');
        if (below) expect(error.message).to.equal(`This procedure needs the role ${lowest}.`);
      }
    });

    it(`${path} refuses fields it does not know and declares what it answers`, async () => {
      const error = await refusalOf(call('administrator', path, { unknown_field_name: 1 }));
      expect(error.message).to.include('<undeclared>: is not declared');
      expect(error.message).to.not.include('unknown_field_name');
      expect(hasOutput).to.equal(true);
    });
  }

  it('no mutation is open to viewers', () => {
    for (const path of pathsOf('mutation')) {
      expect(LOWEST_ROLE[path], path).to.not.equal('viewer');
    }
  });

  it('every mutation leaves exactly one audit row, a refused one none', async () => {
    const walked = new Set(MUTATIONS.map(([path]) => path));
    expect([...walked].sort()).to.deep.equal(pathsOf('mutation').sort());
    const entries = () => service.database.query('select * from audit_entry order by id');
    expect(await entries()).to.deep.equal([]);
    for (const [index, [path, input]] of MUTATIONS.entries()) {
      const lowest = LOWEST_ROLE[path] ?? 'administrator';
      await refusalOf(call(null, path, input));
      await refusalOf(call('viewer', path, input));
      await refusalOf(call(lowest, path, { ...input, wrong: true }));
      expect(await entries(), path).to.have.length(index);
      await call(lowest, path, input);
      const rows = await entries();
      expect(rows, path).to.have.length(index + 1);
      const { id: _id, before: _before, after, ...row } = rows.at(-1) ?? {};
      expect(row).to.deep.equal({
        at: new Date(NOON),
        actor: `a ${lowest}`,
        address: '192.0.2.7',
        procedure: path,
        site_code: path === 'dead_letters.redrive' ? null : 'walk',
      });
      expect(after, path).to.be.an('object');
    }
    const count = MUTATIONS.length;
    // The same again: what cannot be repeated is refused, and leaves no row either.
    for (const path of ['sites.create', 'sites.approve', 'credentials.revoke']) {
      const input = MUTATIONS.find(([name]) => name === path)?.[1];
      expect((await refusalOf(call('administrator', path, input))).code).to.equal('CONFLICT');
    }
    expect(await entries()).to.have.length(count);
  });

  it('queries leave no audit row', async () => {
    const count = async () => (await service.database.query('select 1 from audit_entry')).length;
    const before = await count();
    for (const path of pathsOf('query')) {
      for (const input of [{}, { site_code: 'walk' }, { filter: {} }]) {
        await call('viewer', path, input).catch(() => undefined);
      }
    }
    expect(await count()).to.equal(before);
  });

  it('the audit cannot be changed or emptied', async () => {
    for (const statement of [
      `update audit_entry set actor = 'nobody'`,
      'delete from audit_entry',
      'truncate audit_entry',
    ]) {
      const error: unknown = await service.database.query(statement).catch((caught) => caught);
      expect(String(error)).to.include('append-only');
    }
  });

  it('the audit is read newest first, in pages', async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<ReturnType<AdminService['as']>['audit']['list']>> =
        await service.as('viewer').audit.list({ limit: 4, ...(cursor === null ? {} : { cursor }) });
      seen.push(...page.items.map((item) => item.procedure));
      ({ next_cursor: cursor } = page);
    } while (cursor !== null);
    expect(seen).to.deep.equal(MUTATIONS.map(([path]) => path).reverse());
  });
});
