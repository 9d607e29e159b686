import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { adminCalls } from '../support/admin-calls.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { ADMIN_TOKEN } from '../support/running-service.ts';
import { spawnService, untilReady, type WholeService } from '../support/whole-service.ts';

/** What is changed on one process must be so on every other within this time. */
const WITHIN_MS = 1_000;

describe('a change on one process counts on the other within a second', () => {
  let database: TestDatabase;
  let changing: WholeService;
  let other: WholeService;
  let admin: ReturnType<typeof adminCalls>;

  before(async () => {
    database = await createTestDatabase();
    const environment = {
      DATABASE_URL: database.appUrl,
      MIGRATION_DATABASE_URL: database.ownerUrl,
      ROLE: 'api',
    };
    [changing, other] = await Promise.all([spawnService(environment), spawnService(environment)]);
    await Promise.all([untilReady(changing), untilReady(other)]);
    admin = adminCalls(changing.url, ADMIN_TOKEN);
  });
  after(async () => {
    await Promise.all([changing.stop(), other.stop()]);
    await database.drop();
  });

  const statusOf = async (path: string, headers: Record<string, string>): Promise<number> => {
    const response = await fetch(`${other.url}${path}`, { headers });
    await response.arrayBuffer();
    return response.status;
  };
  const withKey = (key: string) => () => statusOf('/v1/usage', { 'x-api-key': key });
  const withToken = (token: string, path: string) => () =>
    statusOf(path, { authorization: `Bearer ${token}` });

  async function turns(seen: () => Promise<number>, status: number, what: string): Promise<void> {
    const begun = performance.now();
    while ((await seen()) !== status) {
      expect(performance.now() - begun, what).to.be.below(WITHIN_MS);
      await sleep(20);
    }
  }

  it('an operator’s token: created, rotated, revoked, expired', async () => {
    const list = '/admin/trpc/sites.list?input=%7B%7D';
    const made = await admin('operators.create', { name: 'dashboard', role: 'viewer' });
    const token = made['token'] ?? '';
    for (const path of [list, '/metrics']) {
      await turns(withToken(token, path), 200, `${path} after creation`);
    }
    const rotated = await admin('operators.rotate', { operator_id: made['operator_id'] });
    const next = rotated['token'] ?? '';
    for (const path of [list, '/metrics']) {
      await turns(withToken(next, path), 200, `${path} after rotation`);
      await turns(withToken(token, path), 401, `${path} with the former token`);
    }
    await admin('operators.revoke', { operator_id: made['operator_id'] });
    for (const path of [list, '/metrics']) {
      await turns(withToken(next, path), 401, `${path} after revocation`);
    }
    const ends = Date.now() + 1_500;
    const short = await admin('operators.create', {
      name: 'short',
      role: 'viewer',
      expires_at: new Date(ends).toISOString(),
    });
    await turns(withToken(short['token'] ?? '', list), 200, 'before expiry');
    await sleep(ends - Date.now());
    await turns(withToken(short['token'] ?? '', list), 401, 'after expiry');
  });

  it('a production key: approval, suspension, a failed gate, a contract’s end, each there and back', async () => {
    const site = { site_code: 'acme' };
    await admin('sites.create', { code: 'acme', name: 'Acme', customer_type: 'SINGLE_COMPANY' });
    const issued = await admin('credentials.issue', {
      ...site,
      environment: 'production',
      label: 'shop',
    });
    const sandbox = await admin('credentials.issue', {
      ...site,
      environment: 'sandbox',
      label: 'try',
    });
    const key = withKey(issued['api_key'] ?? '');
    const record = (gate: string, result: string) =>
      admin('gates.record', { ...site, gate, result, evidence: 'report' });
    expect(await key()).to.equal(401);
    await record('QUALITY', 'PASSED');
    await record('SECURITY', 'PASSED');
    const contract = await admin('contracts.create', {
      ...site,
      capacity_limit: 10,
      starts_at: new Date(Date.now() - 60_000).toISOString(),
      ends_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    expect(await key()).to.equal(401);
    await admin('sites.approve', site);
    await turns(key, 200, 'approved');

    await admin('sites.suspend', { ...site, reason: 'looked at' });
    await turns(key, 401, 'suspended');
    expect(await withKey(sandbox['api_key'] ?? '')(), 'a sandbox key goes on').to.equal(200);
    await admin('sites.resume', { ...site, reason: 'mended' });
    await turns(key, 200, 'resumed');

    await record('SECURITY', 'FAILED');
    await turns(key, 401, 'a gate failed');
    await record('SECURITY', 'PASSED');
    await turns(key, 200, 'the gate passed again');

    const end = { contract_id: contract['contract_id'] };
    await admin('contracts.end', { ...end, ends_at: new Date().toISOString() });
    await turns(key, 401, 'contract ended');
    await admin('contracts.end', { ...end, ends_at: new Date(Date.now() + 60_000).toISOString() });
    await turns(key, 200, 'contract extended');
    await admin('contracts.change_capacity', { ...end, capacity_limit: 77, reason: 'more' });
    const usage = await fetch(`${other.url}/v1/usage`, {
      headers: { 'x-api-key': issued['api_key'] ?? '' },
    });
    const { quota } = (await usage.json()) as { quota: { limit: number } };
    expect(quota.limit).to.equal(77);
  });
});
