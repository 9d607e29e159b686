import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createOrm } from '../../entities/orm.ts';
import { createSecretBox } from '../../ledger/secret-box.ts';
import { createSecret } from '../../ledger/webhook-secrets.ts';
import { readSettings } from '../../server/config.ts';
import {
  chooseSecretsKeys,
  parseSecretsKey,
  secretsKeyFile,
  wordSecretsKeys,
} from '../../server/secrets-key.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createSite } from '../support/site.ts';
import { spawnService } from '../support/whole-service.ts';

const key = (fill: number): string => Buffer.alloc(32, fill).toString('base64');

describe('SECRETS_KEY', () => {
  it('is base64 of 32 bytes, or several under different names; the first encrypts', () => {
    expect(parseSecretsKey(key(1))?.[0]?.id).to.match(/^[0-9a-f]{8}$/);
    const both = parseSecretsKey(`new:${key(1)}, old:${key(2)}`) ?? [];
    expect(both.map(({ id }) => id)).to.deep.equal(['new', 'old']);
    expect(createSecretBox(both).currentKeyId).to.equal('new');
    expect(parseSecretsKey(wordSecretsKeys(both))).to.deep.equal(both);
    for (const wrong of [
      '',
      'x',
      key(1).slice(4),
      `${key(1)}AAAA`,
      `a:${key(1)},a:${key(2)}`,
      `${key(1)},${key(1)}`,
      `a b:${key(1)}`,
      `${key(1)},`,
    ]) {
      expect(parseSecretsKey(wrong), wrong).to.equal(undefined);
    }
  });

  it('is demanded together with DATABASE_URL, and wrong ones are refused without quoting them', () => {
    const settings = {
      DATABASE_URL: 'postgres://a@127.0.0.1:1/b',
      ADMIN_TOKEN: 'a'.repeat(32),
    };
    expect(() => readSettings(settings)).to.throw(/^SECRETS_KEY .* together with DATABASE_URL/);
    const wrong = { ...settings, SECRETS_KEY: 'new:too-short' };
    expect(() => readSettings(wrong))
      .to.throw(/^SECRETS_KEY must be base64 of 32 bytes/)
      .with.property('message')
      .that.does.not.include('too-short');
    const read = readSettings({ ...settings, SECRETS_KEY: key(1) });
    expect(read.WEBHOOK_RETRY_SECONDS).to.deep.equal([5, 300, 1800, 7200, 18_000, 36_000, 36_000]);
    expect(read.WEBHOOK_ALLOW_PRIVATE_NETWORKS).to.equal(false);
    for (const [name, value] of [
      ['WEBHOOK_RETRY_SECONDS', '5,,300'],
      ['WEBHOOK_RETRY_SECONDS', '0'],
      ['WEBHOOK_ALLOW_PRIVATE_NETWORKS', 'yes'],
      ['WEBHOOK_RETENTION_DAYS', '29'],
      ['WEBHOOK_RETENTION_DAYS', '367'],
    ] as const) {
      expect(() => readSettings({ ...settings, SECRETS_KEY: key(1), [name]: value })).to.throw(
        name,
      );
    }
  });

  it('lets no schedule of webhooks outlast what it delivers', () => {
    const waits = (days: number): string => Array.from({ length: days }, () => 86_400).join(',');
    const read = (days: number) => () => readSettings({ WEBHOOK_RETRY_SECONDS: waits(days) });
    expect(read(17)).not.to.throw();
    expect(read(18)).to.throw(/^WEBHOOK_RETRY_SECONDS must add up to at most half/);
  });

  it('is made and kept beside the embedded database, readable by its owner only, and never made anew', () => {
    const folder = mkdtempSync(join(tmpdir(), 'trk-key-'));
    try {
      const made = chooseSecretsKeys({ DATA_DIR: folder });
      expect(chooseSecretsKeys({ DATA_DIR: folder })).to.deep.equal(made);
      const path = secretsKeyFile(folder);
      expect(statSync(path).mode & 0o777).to.equal(0o600);
      expect(parseSecretsKey(readFileSync(path, 'utf8').trim())).to.deep.equal(made);
      const given = parseSecretsKey(key(3)) ?? [];
      expect(chooseSecretsKeys({ DATA_DIR: folder, SECRETS_KEY: given })).to.equal(given);
      writeFileSync(path, 'spoiled');
      expect(() => chooseSecretsKeys({ DATA_DIR: folder })).to.throw('restore it from a backup');
      expect(readFileSync(path, 'utf8')).to.equal('spoiled');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('seals so that every change shows, and never twice alike', () => {
    const box = createSecretBox([{ id: 'a', key: randomBytes(32) }]);
    const [one, two] = [box.seal('secret', 'row/1'), box.seal('secret', 'row/1')];
    expect(one.sealed.equals(two.sealed)).to.equal(false);
    expect(box.open(one, 'row/1')).to.equal('secret');
    expect(() => box.open(one, 'row/2'), 'of another row').to.throw();
    for (let at = 0; at < one.sealed.length; at += 1) {
      const changed = Buffer.from(one.sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => box.open({ keyId: 'a', sealed: changed }, 'row/1'), `byte ${at}`).to.throw();
    }
    for (const length of [0, 11, 27]) {
      const cut = one.sealed.subarray(0, length);
      expect(() => box.open({ keyId: 'a', sealed: cut }, 'row/1'), `${length} bytes`).to.throw();
    }
  });

  describe('at the start of a service', () => {
    let database: TestDatabase;
    before(async () => {
      database = await createTestDatabase();
      const site = await createSite(database);
      const [endpoint] = await database.query<{ id: string }>(
        `insert into webhook_endpoint (site_id, url, description, event_types, state, created_by, created_at, changed_by,
           changed_at) values ($1, 'https://receiver.example.com/', '', '{}', 'PENDING', 'test', now(), 'test', now())
         returning id`,
        [site.siteId],
      );
      const orm = createOrm({
        url: database.appUrl,
        poolSize: 1,
        applicationName: 'test',
        statementTimeoutMs: 5_000,
      });
      const ref = { siteId: BigInt(site.siteId), endpointId: BigInt(endpoint?.id ?? 0) };
      const box = createSecretBox([{ id: 'old', key: Buffer.alloc(32, 1) }]);
      await createSecret(orm.em.fork().getKysely(), box, ref, Date.now());
      await orm.close(true);
    });
    after(() => database.drop());

    const refused = async (secretsKey: string): Promise<string> => {
      const service = await spawnService({
        DATABASE_URL: database.appUrl,
        MIGRATION_DATABASE_URL: database.ownerUrl,
        SECRETS_KEY: secretsKey,
      });
      expect(await service.exited, service.told()).to.equal(1);
      const said = service.told() + service.logged();
      if (secretsKey !== '') expect(said).to.not.include(secretsKey.split(':').at(-1));
      return service.told().trim();
    };

    it('what does not open what is stored is one sentence and exit code 1, never the key', async () => {
      const says = 'SECRETS_KEY cannot open stored signing secrets';
      expect(await refused(`new:${key(2)}`), 'another one')
        .to.include(says)
        .and.include('the key named old');
      expect(await refused(`old:${key(2)}`), 'another one under the same name').to.include(says);
    });
  });
});
