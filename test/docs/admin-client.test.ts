import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import {
  AdminRefusal,
  createAdminClient,
  type InputOf,
  type OutputOf,
} from '../../docs/examples/admin-client/admin-client.ts';
import { sitesToLookAt } from '../../docs/examples/admin-client/sites-to-look-at.ts';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';

const FOLDER = join(import.meta.dirname, '../../docs/examples/admin-client');

/** Never called: the compiler reads it. A line that compiles although it is wrong fails `npm run check:types`. */
export async function whatMustNotCompile(address: { url: string; token: string }): Promise<void> {
  const call = createAdminClient(address);
  // @ts-expect-error -- no such procedure
  await call('sites.explode', {});
  // @ts-expect-error -- a public operation is none of them
  await call('submitTransaction', {});
  // @ts-expect-error -- no such role
  await call('operators.create', { name: 'x', role: 'king' });
  // @ts-expect-error -- a field is missing
  await call('sites.get', {});
  // @ts-expect-error -- a number is no id
  await call('contracts.end', { contract_id: 17, ends_at: '2026-01-01T00:00:00Z' });
  const answer = await call('sites.get', { site_code: 'x' });
  // @ts-expect-error -- no such field: the opaque subject is never shown
  String(answer.default_subject);
}

describe('the typed client of docs/examples/admin-client', () => {
  let running: RunningService;
  before(async () => {
    running = await runService({ role: 'api' });
  });
  after(() => running.stop());

  it('type-checks as a project of its own', async () => {
    const tsc = join(
      dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
      'bin/tsc',
    );
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', FOLDER]).catch(
      (error: unknown) => error as { stdout: string },
    );
    expect(stdout).to.equal('');
  });

  it('calls a running service, over all pages, and gets refusals as they are worded', async () => {
    const address = { url: running.url, token: ADMIN_TOKEN };
    const call = createAdminClient(address);
    for (const code of ['one', 'two']) {
      const input: InputOf<'sites.create'> = { code, name: code, customer_type: 'MULTI_MERCHANT' };
      const made: OutputOf<'sites.create'> = await call('sites.create', input);
      expect(made.state).to.equal('CREATED');
    }
    await running.createSite({ code: 'three' });
    expect(await sitesToLookAt(address)).to.deep.equal([
      { code: 'one', why: 'waits for its approval' },
      { code: 'two', why: 'waits for its approval' },
    ]);
    const refused: unknown = await call('sites.get', { site_code: 'nowhere' }).catch(
      (error: unknown) => error,
    );
    expect(refused).to.be.instanceOf(AdminRefusal);
    expect(refused).to.include({ code: 'NOT_FOUND' });
    const wrong: unknown = await createAdminClient({ ...address, token: 'x' })(
      'sites.list',
      {},
    ).catch((error: unknown) => error);
    expect(wrong).to.include({ code: 'UNAUTHORIZED' });
  });
});
