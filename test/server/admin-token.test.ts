import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  AdminTokenError,
  adminTokenFile,
  createOperatorOf,
  readAdminToken,
  readOrCreateAdminToken,
} from '../../server/admin-token.ts';

describe('the first administrator’s token', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'transaction-risk-token-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('is made once, long and private, and read again afterwards', () => {
    const data = join(directory, 'data');
    expect(readAdminToken(data)).to.equal(undefined);
    const token = readOrCreateAdminToken(data);
    expect(token).to.match(/^[\w-]{43}$/);
    expect(readOrCreateAdminToken(data)).to.equal(token);
    expect(statSync(adminTokenFile(data)).mode & 0o777).to.equal(0o600);
    expect(readdirSync(data)).to.deep.equal(['admin-token']);
  });

  it('is made private again where a copy lost the mode', () => {
    const token = readOrCreateAdminToken(directory);
    chmodSync(adminTokenFile(directory), 0o644);
    expect(readOrCreateAdminToken(directory)).to.equal(token);
    expect(statSync(adminTokenFile(directory)).mode & 0o777).to.equal(0o600);
  });

  it('a file without a token is refused with what to do, and left as it is', () => {
    writeFileSync(adminTokenFile(directory), 'short\n');
    expect(() => readOrCreateAdminToken(directory)).to.throw(AdminTokenError, /delete it/);
    expect(readFileSync(adminTokenFile(directory), 'utf8')).to.equal('short\n');
  });

  it('a DATA_DIR that is no folder is refused with what to do', () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    expect(() => readOrCreateAdminToken(file)).to.throw(AdminTokenError, /or set ADMIN_TOKEN/);
  });

  it('names an administrator, and every other token names nobody', async () => {
    const token = readOrCreateAdminToken(directory);
    const operatorOf = createOperatorOf(token);
    expect(await operatorOf(token)).to.deep.equal({
      name: 'first administrator',
      role: 'administrator',
    });
    for (const wrong of ['', token.slice(1), `${token} `, token.toUpperCase()]) {
      expect(await operatorOf(wrong)).to.equal(undefined);
    }
  });
});
