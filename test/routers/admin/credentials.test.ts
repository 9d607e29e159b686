import { expect } from 'chai';
import { API_KEY_PATTERN, generateApiKey, hashApiKey } from '../../../ledger/api-key.ts';
import { findCredentials, readAuthVersion } from '../../../ledger/credentials.ts';
import {
  createActiveSite,
  NOON,
  refusalOf,
  startAdminService,
  type AdminService,
} from './admin-service.ts';

describe('admin: credentials', () => {
  let service: AdminService;
  before(async () => {
    service = await startAdminService();
    await createActiveSite(service.as('administrator'), 'acme');
  });
  after(() => service.close());
  beforeEach(() => {
    service.clock.at = NOON;
  });
  const admin = () => service.as('administrator');
  const issue = (options: object = {}) =>
    admin().credentials.issue({
      site_code: 'acme',
      environment: 'production',
      label: 'checkout',
      ...options,
    });
  const db = () => service.services.orm.em.fork().getKysely();
  const lookUp = async (key: string) => {
    const hash = hashApiKey(key);
    return (await findCredentials(db(), [hash])).get(hash.toString('hex'));
  };

  it('keys have the documented form, hold 256 random bits, and differ', () => {
    const keys = new Set<string>();
    for (let count = 0; count < 200; count += 1) {
      for (const environment of ['production', 'sandbox'] as const) {
        const { apiKey, keyId, hash } = generateApiKey(environment);
        expect(apiKey).to.match(API_KEY_PATTERN);
        expect(apiKey).to.match(
          new RegExp(`^trk_${environment === 'production' ? 'prod' : 'sbx'}_${keyId}_`),
        );
        expect(hash).to.deep.equal(hashApiKey(apiKey)).and.to.have.length(32);
        keys.add(apiKey);
      }
    }
    expect(keys.size).to.equal(400);
  });

  it('an issued key is found by authentication with what was granted', async () => {
    const { credential_id: id, api_key: key } = await issue({
      permissions: ['read'],
      expires_at: '2026-03-11T00:00:00+09:00',
    });
    expect(await lookUp(key)).to.deep.include({
      credentialId: BigInt(id),
      environment: 'production',
      permissions: new Set(['read']),
      expiresAt: Date.UTC(2026, 2, 10, 15),
      revoked: false,
      siteActive: true,
    });
    const all = await issue({ environment: 'sandbox' });
    expect((await lookUp(all.api_key))?.permissions).to.deep.equal(
      new Set(['ingest', 'read', 'label']),
    );
  });

  it('a production key may be issued before the Site is active, and does not make it so', async () => {
    await admin().sites.create({ code: 'early', name: 'Early', customer_type: 'MULTI_MERCHANT' });
    const { api_key: key } = await issue({ site_code: 'early' });
    expect(await lookUp(key)).to.deep.include({ siteActive: false, contracts: [] });
  });

  it('every change of a credential raises the version that other processes watch', async () => {
    const versions = new Set([await readAuthVersion(db())]);
    const { credential_id: id } = await issue();
    versions.add(await readAuthVersion(db()));
    await admin().credentials.rotate({ credential_id: id, overlap_seconds: 0 });
    versions.add(await readAuthVersion(db()));
    await admin().credentials.revoke({ credential_id: id });
    versions.add(await readAuthVersion(db()));
    expect(versions.size).to.equal(4);
  });

  it('a rotation keeps the credential, and the old keys die at the second promised', async () => {
    const first = await issue();
    service.clock.at = NOON + 1_000;
    const second = await admin().credentials.rotate({
      credential_id: first.credential_id,
      overlap_seconds: 3600,
    });
    expect(second.credential_id).to.equal(first.credential_id);
    expect(second.api_key).to.match(API_KEY_PATTERN).and.to.not.equal(first.api_key);
    const end = NOON + 1_000 + 3_600_000;
    expect((await lookUp(first.api_key))?.expiresAt).to.equal(end);
    expect((await lookUp(second.api_key))?.expiresAt).to.equal(Infinity);
    // A later rotation with a longer overlap never gives an old key more time, a shorter one takes it.
    const third = await admin().credentials.rotate({
      credential_id: first.credential_id,
      overlap_seconds: 2_592_000,
    });
    expect((await lookUp(first.api_key))?.expiresAt).to.equal(end);
    expect((await lookUp(second.api_key))?.expiresAt).to.equal(NOON + 1_000 + 2_592_000_000);
    await admin().credentials.rotate({ credential_id: first.credential_id, overlap_seconds: 0 });
    for (const key of [first, second, third]) {
      expect((await lookUp(key.api_key))?.expiresAt).to.equal(NOON + 1_000);
    }
  });

  it('rotations at once leave exactly one key without an end', async () => {
    const { credential_id: id } = await issue();
    await Promise.all(
      [1, 2, 3].map(() => admin().credentials.rotate({ credential_id: id, overlap_seconds: 60 })),
    );
    const rows = await service.database.query<{ expires_at: Date | null }>(
      'select expires_at from credential_key where credential_id = $1',
      [id],
    );
    expect(rows).to.have.length(4);
    expect(rows.filter((row) => row.expires_at === null)).to.have.length(1);
  });

  it('a revoked credential is revoked once and for all', async () => {
    const { credential_id: id, api_key: key } = await issue();
    expect(await admin().credentials.revoke({ credential_id: id })).to.deep.equal({
      credential_id: id,
      revoked_at: new Date(NOON).toISOString(),
    });
    expect((await lookUp(key))?.revoked).to.equal(true);
    for (const again of [
      () => admin().credentials.revoke({ credential_id: id }),
      () => admin().credentials.rotate({ credential_id: id, overlap_seconds: 0 }),
    ]) {
      const error = await refusalOf(again());
      expect(error.code).to.equal('CONFLICT');
      expect(error.message).to.match(
        /was revoked at .*; issue a new one with credentials\.issue\.$/,
      );
    }
  });

  it('an expired credential cannot be rotated', async () => {
    const { credential_id: id } = await issue({ expires_at: new Date(NOON + 1).toISOString() });
    service.clock.at = NOON + 1;
    const error = await refusalOf(
      admin().credentials.rotate({ credential_id: id, overlap_seconds: 0 }),
    );
    expect(error.code).to.equal('PRECONDITION_FAILED');
  });

  for (const [name, options, message] of [
    ['an end in the past', { expires_at: new Date(NOON).toISOString() }, 'must be in the future'],
    ['an unknown permission', { permissions: ['admin'] }, 'permissions[0]: must be one of'],
    [
      'a permission named twice',
      { permissions: ['read', 'read'] },
      'must not name a permission twice',
    ],
    ['no permission at all', { permissions: [] }, 'permissions: must have at least 1 element'],
    ['another environment', { environment: 'test' }, 'environment: must be one of'],
    ['a blank label', { label: '   ' }, 'label: must not be blank'],
  ] as const) {
    it(`${name} is refused`, async () => {
      const error = await refusalOf(issue(options));
      expect(error.code).to.equal('BAD_REQUEST');
      expect(error.message).to.include(message);
    });
  }

  it('an overlap of more than 30 days is refused', async () => {
    const { credential_id: id } = await issue();
    for (const overlap of [-1, 2_592_001, 1.5]) {
      const error = await refusalOf(
        admin().credentials.rotate({ credential_id: id, overlap_seconds: overlap }),
      );
      expect(error.message).to.include('overlap_seconds: must be');
    }
  });

  it('an unknown Site or credential is refused with what to do', async () => {
    for (const call of [
      () => issue({ site_code: 'nowhere' }),
      () => admin().credentials.list({ site_code: 'nowhere' }),
      () => admin().credentials.revoke({ credential_id: '999999' }),
      () => admin().credentials.rotate({ credential_id: '999999', overlap_seconds: 0 }),
    ]) {
      const error = await refusalOf(call());
      expect(error.code).to.equal('NOT_FOUND');
      expect(error.message).to.match(/^There is no .*; .* shows/);
    }
  });

  it('lists a Site’s credentials with masked keys, newest first, in pages, without its neighbours', async () => {
    for (const code of ['lists', 'lists-2']) {
      await admin().sites.create({ code, name: code, customer_type: 'MULTI_MERCHANT' });
    }
    const issued: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const { credential_id: id } = await issue({ site_code: 'lists', label: `no ${count}` });
      issued.unshift(id);
      await issue({ site_code: 'lists-2' });
    }
    const first = await service.as('viewer').credentials.list({ site_code: 'lists', limit: 3 });
    const second = await service.as('viewer').credentials.list({
      site_code: 'lists',
      limit: 3,
      cursor: first.next_cursor ?? '',
    });
    expect([...first.items, ...second.items].map((item) => item.credential_id)).to.deep.equal(
      issued,
    );
    expect(second.next_cursor).to.equal(null);
    for (const item of first.items) {
      expect(item.keys.map((key) => key.masked_key).join()).to.match(/^trk_prod_[0-9A-Za-z]{8}_…$/);
    }
  });

  it('no key is stored or audited, only its hash', async () => {
    const { credential_id: id, api_key: first } = await issue({ label: 'canary' });
    const { api_key: second } = await admin().credentials.rotate({
      credential_id: id,
      overlap_seconds: 10,
    });
    await admin().credentials.revoke({ credential_id: id });
    const tables = await service.database.query<{ name: string }>(
      `select quote_ident(relname) as name from pg_class
       where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace`,
    );
    expect(tables.length).to.be.above(15);
    for (const { name } of tables) {
      const rows = await service.database.query<{ row: string }>(
        `select to_jsonb(t)::text as row from ${name} t`,
      );
      for (const { row } of rows) {
        for (const key of [first, second]) expect(row, name).to.not.include(key.slice(-43));
      }
    }
  });
});
