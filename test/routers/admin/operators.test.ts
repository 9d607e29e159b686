import { expect } from 'chai';
import { findOperator } from '../../../ledger/operators.ts';
import { createOperatorOf, type OperatorOf } from '../../../server/admin-token.ts';
import { NOON, refusalOf, startAdminService, type AdminService } from './admin-service.ts';

const DAY_MS = 86_400_000;
const ADMIN_TOKEN = 'first-administrator-0123456789-0123456789';

describe('admin: operators', () => {
  let service: AdminService;
  let whoIs: OperatorOf;
  before(async () => {
    service = await startAdminService();
    whoIs = createOperatorOf(ADMIN_TOKEN, (hash) =>
      findOperator(service.services.orm.em.fork().getKysely(), hash, service.clock.at),
    );
  });
  afterEach(() => {
    service.clock.at = NOON;
  });
  after(() => service.close());
  const admin = () => service.as('administrator');

  it('a token is shown once, stored as a hash, and says who calls with which role', async () => {
    for (const role of ['viewer', 'operator', 'administrator'] as const) {
      const made = await admin().operators.create({ name: `the ${role}`, role });
      expect(made.token).to.match(/^trk_op_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}$/);
      expect(await whoIs(made.token)).to.deep.equal({ name: `the ${role}`, role });
      const stored = JSON.stringify([
        await service.database.query('select *, encode(token_hash, $1) from operator', ['escape']),
        await service.database.query('select * from audit_entry'),
        await service.as('viewer').operators.list({}),
      ]);
      expect(stored).to.not.include(made.token.slice(-43));
    }
  });

  it('the first administrator is known by ADMIN_TOKEN alone and never stored', async () => {
    expect(await whoIs(ADMIN_TOKEN)).to.deep.equal({
      name: 'first administrator',
      role: 'administrator',
    });
    const rows = await service.database.query(
      `select name from operator where name = 'first administrator'`,
    );
    expect(rows).to.deep.equal([]);
  });

  it('a token ends by itself: after 90 days, or at the instant that was said', async () => {
    const usual = await admin().operators.create({ name: 'usual', role: 'viewer' });
    expect(usual.expires_at).to.equal(new Date(NOON + 90 * DAY_MS).toISOString());
    const short = await admin().operators.create({
      name: 'short',
      role: 'viewer',
      expires_at: new Date(NOON + 1000).toISOString(),
    });
    service.clock.at = NOON + 999;
    expect(await whoIs(short.token)).to.include({ name: 'short' });
    service.clock.at = NOON + 1000;
    expect(await whoIs(short.token)).to.equal(undefined);
    const { items } = await service.as('viewer').operators.list({ limit: 1 });
    expect(items[0]).to.include({ name: 'short', state: 'EXPIRED' });
    expect(await whoIs(usual.token)).to.include({ name: 'usual' });
    for (const offset of [0, -1, 366 * DAY_MS + 1]) {
      const at = new Date(service.clock.at + offset).toISOString();
      const error = await refusalOf(
        admin().operators.create({ name: 'never', role: 'viewer', expires_at: at }),
      );
      expect(error.code).to.equal('BAD_REQUEST');
    }
  });

  it('a revoked token is worth nothing at once, and its name is not used again', async () => {
    const made = await admin().operators.create({ name: 'leaver', role: 'administrator' });
    expect(await whoIs(made.token)).to.include({ name: 'leaver' });
    const revoked = await admin().operators.revoke({ name: 'leaver' });
    expect(revoked).to.deep.equal({
      operator_id: made.operator_id,
      name: 'leaver',
      revoked_at: new Date(NOON).toISOString(),
    });
    expect(await whoIs(made.token)).to.equal(undefined);
    for (const again of [
      () => admin().operators.revoke({ operator_id: made.operator_id }),
      () => admin().operators.rotate({ operator_id: made.operator_id }),
      () => admin().operators.create({ name: 'leaver', role: 'viewer' }),
    ]) {
      expect((await refusalOf(again())).code).to.equal('CONFLICT');
    }
  });

  it('a rotation gives a new token to the same operator and ends the former one', async () => {
    const made = await admin().operators.create({ name: 'keeper', role: 'operator' });
    const rotated = await admin().operators.rotate({ operator_id: made.operator_id });
    expect(rotated).to.include({ operator_id: made.operator_id, name: 'keeper', role: 'operator' });
    expect(await whoIs(made.token)).to.equal(undefined);
    expect(await whoIs(rotated.token)).to.deep.equal({ name: 'keeper', role: 'operator' });
  });

  for (const name of [
    '',
    ' ',
    ' x',
    'x ',
    'first administrator',
    'First Administrator',
    'unknown',
  ]) {
    it(`the name "${name}" is refused`, async () => {
      const error = await refusalOf(admin().operators.create({ name, role: 'viewer' }));
      expect(error.code).to.equal('BAD_REQUEST');
      expect(error.message).to.match(/^The input is wrong: name: must /);
    });
  }

  it('who is to be revoked is said by id or by name, not by both or neither; an unknown one is named so', async () => {
    for (const input of [{}, { operator_id: '1', name: 'x' }]) {
      expect((await refusalOf(admin().operators.revoke(input))).code).to.equal('BAD_REQUEST');
    }
    for (const input of [{ operator_id: '999999' }, { name: 'nobody of this name' }]) {
      const error = await refusalOf(admin().operators.revoke(input));
      expect(error.code).to.equal('NOT_FOUND');
      expect(error.message).to.not.include('nobody of this name');
    }
  });

  it('tokens of another shape do not reach the database', async () => {
    let asked = 0;
    const counting = createOperatorOf(ADMIN_TOKEN, () => {
      asked += 1;
      return Promise.resolve(undefined);
    });
    for (const token of ['', 'x', 'trk_prod_12345678_x', `trk_op_12345678_${'a'.repeat(42)}`]) {
      expect(await counting(token)).to.equal(undefined);
    }
    expect(asked).to.equal(0);
    expect(await counting(`trk_op_12345678_${'a'.repeat(43)}`)).to.equal(undefined);
    expect(asked).to.equal(1);
  });
});
