import { TRPCError } from '@trpc/server';
import { expect } from 'chai';
import type { z } from 'zod';
import { operationsOf } from '../../../openapi/operations.ts';
import { listProcedures } from '../../../routers/admin/procedure-list.ts';
import type { Role } from '../../../routers/procedure.ts';
import { v1Router } from '../../../routers/v1/router.ts';
import { NOON, refusalOf, startAdminService, type AdminService } from './admin-service.ts';
import { WALKS } from './walk/index.ts';
import { everythingOf } from './walk/neighbour.ts';
import type { Walk } from './walk/walk.ts';

const PROCEDURES = listProcedures();
const pathsOf = (wanted: 'query' | 'mutation') =>
  PROCEDURES.filter(({ type }) => type === wanted).map(({ path }) => path);
const roleOf = (path: string): Role | undefined =>
  PROCEDURES.find((procedure) => procedure.path === path)?.role;

const ROLES = ['viewer', 'operator', 'administrator'] as const satisfies readonly Role[];

/** Mutations that need no administrator: what operators do about traffic. Everything else that changes does. */
const OF_OPERATORS = new Set([
  'sites.suspend',
  'dead_letters.redrive',
  'dead_letters.discard',
  'tasks.cancel',
  'webhooks.activate',
  'webhooks.disable',
  'webhooks.resend',
  'webhooks.recover',
  'rules.save_draft',
  'rules.test',
  'rules.backtest',
  'rules.shadow',
  'rules.stop_shadow',
  'rules.rollback',
  'models.compare',
  'lists.put',
  'lists.remove',
]);

/** Queries that viewers may not call. */
const GUARDED_QUERIES: Record<string, Role> = {};

const STEPS = WALKS.flatMap(({ steps }) => steps);
const QUERY_INPUTS = Object.assign({}, ...WALKS.map(({ queries }) => queries)) as NonNullable<
  (typeof WALKS)[number]['queries']
>;

/** The ends of what texts and numbers may say; whatever a field takes of them must not be more than the database can hold. */
const EXTREMES: readonly unknown[] = [
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '0000-01',
  '9999-12',
  '999999999999999999',
  'ing_9223372036854775807',
  'ing_9223372036854775808',
  't.999999999999999999.999999999999999999',
  'j.999999999999999999.1',
  '999999999999999.1',
  '%_\\',
  '\u0000',
  '\ud800',
  'x'.repeat(5_000),
  -1,
  9_007_199_254_740_991,
  {},
  [],
  null,
];

/** True where a query can be narrowed to one Site. */
function takesSite(path: string): boolean {
  const input = PROCEDURES.find((procedure) => procedure.path === path)?.input;
  const shape = (input as z.ZodObject | undefined)?.shape;
  return shape !== undefined && 'site_code' in shape;
}

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

  it('is not reachable over the public interface', () => {
    const published = operationsOf(v1Router).map((operation) => operation.procedure);
    for (const { path, hasRestPath } of PROCEDURES) {
      expect(hasRestPath, path).to.equal(false);
      expect(published).to.not.include(path);
    }
  });

  it('states the role that its kind asks for: viewers change nothing, operators only what is listed', () => {
    for (const { path, type, role } of PROCEDURES) {
      const mutation = OF_OPERATORS.has(path) ? 'operator' : 'administrator';
      const expected = type === 'mutation' ? mutation : (GUARDED_QUERIES[path] ?? 'viewer');
      expect(role, path).to.equal(expected);
    }
  });

  for (const { path, hasOutput } of PROCEDURES) {
    it(`${path} refuses who is no operator and every role below its own, before looking at the input`, async () => {
      const nobody = await refusalOf(call(null, path, { wrong: true }));
      expect(nobody.code).to.equal('UNAUTHORIZED');
      const lowest = roleOf(path) ?? 'administrator';
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

  describe('walked through on two Sites', () => {
    const answers = new Map<string, unknown>();
    const walkOf = (code: string): Walk => ({
      code,
      get service() {
        return service;
      },
      answer: (path) => {
        const answer = answers.get(`${code} ${path}`);
        if (answer === undefined) throw new Error(`${path} was not walked yet`);
        return answer as Record<string, unknown>;
      },
    });
    const [one, neighbour] = [walkOf('walk-one'), walkOf('walk-neighbour')];
    const entries = () => service.database.query('select * from audit_entry order by id');
    const lowestRole = (path: string): Role => roleOf(path) ?? 'administrator';

    before(async () => {
      for (const step of STEPS) {
        await step.before?.(neighbour);
        const input = await step.input(neighbour);
        answers.set(
          `${neighbour.code} ${step.path}`,
          await call(lowestRole(step.path), step.path, input),
        );
      }
    });

    it('every mutation has a step (add it in test/routers/admin/walk)', () => {
      const walked = new Set(STEPS.map(({ path }) => path));
      expect([...walked].sort()).to.deep.equal(pathsOf('mutation').sort());
    });

    for (const step of STEPS) {
      it(`${step.path} leaves exactly one audit row, none when refused, and no trace at the neighbour`, async () => {
        const { path } = step;
        const lowest = lowestRole(path);
        await step.before?.(one);
        const input = (await step.input(one)) as Record<string, unknown>;
        const count = (await entries()).length;
        const before = await everythingOf(service.database, neighbour.code);
        await refusalOf(call(null, path, input));
        await refusalOf(call('viewer', path, input));
        await refusalOf(call(lowest, path, { ...input, wrong: true }));
        expect(await entries(), path).to.have.length(count);
        answers.set(`${one.code} ${path}`, await call(lowest, path, input));
        const rows = await entries();
        expect(rows, path).to.have.length(count + 1);
        const { id: _id, before: _before, after, ...row } = rows.at(-1) ?? {};
        expect(row).to.deep.equal({
          at: new Date(NOON),
          actor: `a ${lowest}`,
          actor_role: lowest,
          address: '192.0.2.7',
          procedure: path,
          site_code: step.ofNoSite === true ? null : one.code,
        });
        expect(after, path).to.be.an('object');
        expect(await everythingOf(service.database, neighbour.code)).to.deep.equal(before);
      });
    }

    for (const path of pathsOf('query')) {
      it(`${path} answers, leaves no audit row and shows nothing of the neighbour`, async () => {
        const given = QUERY_INPUTS[path];
        const narrowed = takesSite(path);
        const input = {
          ...(narrowed ? { site_code: one.code } : {}),
          ...(given === undefined ? {} : ((await given(one)) as object)),
        };
        const count = (await entries()).length;
        const answer = JSON.stringify(await call(lowestRole(path), path, input));
        expect(await entries()).to.have.length(count);
        if (narrowed || given !== undefined) expect(answer).to.not.include(neighbour.code);
      });
    }

    for (const path of pathsOf('query')) {
      it(`${path} answers or refuses the ends of every field, and never fails`, async () => {
        const required = { ...((await QUERY_INPUTS[path]?.(one)) as object | undefined) };
        const base = takesSite(path) ? { site_code: one.code, ...required } : required;
        const schema = PROCEDURES.find((procedure) => procedure.path === path)?.input;
        for (const field of Object.keys((schema as z.ZodObject | undefined)?.shape ?? {})) {
          for (const value of EXTREMES) {
            const code = await call('administrator', path, { ...base, [field]: value }).then(
              () => 'answered',
              (error: unknown) => (error instanceof TRPCError ? error.code : String(error)),
            );
            const what = `${field}: ${JSON.stringify(value).slice(0, 40)}`;
            expect(code, what).to.be.oneOf(['answered', 'BAD_REQUEST', 'NOT_FOUND']);
          }
        }
      });
    }

    it('what cannot be repeated is refused, and leaves no row either', async () => {
      const count = (await entries()).length;
      for (const path of [
        'sites.create',
        'sites.approve',
        'credentials.revoke',
        'operators.create',
      ]) {
        const step = STEPS.find((candidate) => candidate.path === path);
        const error = await refusalOf(call('administrator', path, await step?.input(one)));
        expect(error.code).to.equal('CONFLICT');
      }
      expect(await entries()).to.have.length(count);
    });

    it('no key, token or secret is in the audit, in an event or in a list', async () => {
      const secrets = [...answers.values()].flatMap((answer) =>
        [...JSON.stringify(answer).matchAll(/"(?:api_key|token|signing_secret)":"([^"]+)"/g)].map(
          (match) => match[1] ?? '',
        ),
      );
      expect(secrets.length).to.be.at.least(8);
      const stored = JSON.stringify([
        await entries(),
        await service.database.query('select * from operator_event'),
        await service.as('viewer').operators.list({}),
        await service.as('viewer').credentials.list({ site_code: one.code }),
      ]);
      for (const secret of secrets) expect(stored).to.not.include(secret.slice(-20));
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
  });
});
