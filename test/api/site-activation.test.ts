import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { adminCalls } from '../support/admin-calls.ts';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';

/** What is changed must be so on every process within a second. */
const WITHIN_MS = 1_000;

describe('a Site’s way into production, over HTTP', () => {
  let running: RunningService;
  before(async () => {
    running = await runService({ role: 'api' });
  });
  after(() => running.stop());

  const admin = (procedure: string, input: object) =>
    adminCalls(running.url, ADMIN_TOKEN)(procedure, input);

  const statusWith = async (apiKey: string): Promise<number> => {
    const response = await fetch(`${running.url}/v1/usage`, { headers: { 'x-api-key': apiKey } });
    await response.arrayBuffer();
    return response.status;
  };

  async function turns(apiKey: string, status: number): Promise<void> {
    const deadline = performance.now() + WITHIN_MS;
    let seen = await statusWith(apiKey);
    while (seen !== status && performance.now() < deadline) {
      await sleep(25);
      seen = await statusWith(apiKey);
    }
    expect(seen).to.equal(status);
  }

  it('a production key works from approval until its end, a sandbox key from the start, each change within a second', async () => {
    const site = { site_code: 'acme' };
    await admin('sites.create', { code: 'acme', name: 'Acme', customer_type: 'SINGLE_COMPANY' });
    const credential = { ...site, label: 'shop' };
    const production = await admin('credentials.issue', {
      ...credential,
      environment: 'production',
    });
    const sandbox = await admin('credentials.issue', { ...credential, environment: 'sandbox' });
    const key = production['api_key'] ?? '';
    expect(await statusWith(key)).to.equal(401);
    expect(await statusWith(sandbox['api_key'] ?? '')).to.equal(200);
    for (const gate of ['QUALITY', 'SECURITY']) {
      await admin('gates.record', { ...site, gate, result: 'PASSED', evidence: 'report' });
    }
    const contract = await admin('contracts.create', {
      ...site,
      capacity_limit: 10,
      starts_at: new Date(Date.now() - 60_000).toISOString(),
      ends_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    expect(await statusWith(key)).to.equal(401);
    await admin('sites.approve', site);
    await turns(key, 200);

    const rotated = await admin('credentials.rotate', {
      credential_id: production['credential_id'],
      overlap_seconds: 0,
    });
    await turns(rotated['api_key'] ?? '', 200);
    await turns(key, 401);

    const end = { contract_id: contract['contract_id'] };
    await admin('contracts.end', { ...end, ends_at: new Date().toISOString() });
    await turns(rotated['api_key'] ?? '', 401);
    await admin('contracts.end', { ...end, ends_at: new Date(Date.now() + 60_000).toISOString() });
    await turns(rotated['api_key'] ?? '', 200);

    await admin('credentials.revoke', { credential_id: production['credential_id'] });
    await turns(rotated['api_key'] ?? '', 401);
    expect(await statusWith(sandbox['api_key'] ?? '')).to.equal(200);
  });

  it('no key or token of it reaches the log', async () => {
    const keys = await running.database.query<{ key_id: string }>(
      'select key_id from credential_key',
    );
    expect(keys.length).to.be.above(1);
    const log = running.logLines.join('\n');
    expect(log).to.include('/admin/trpc/credentials.issue');
    expect(log).to.not.include(ADMIN_TOKEN);
    expect(log).to.not.match(/trk_(prod|sbx)_/);
  });
});
