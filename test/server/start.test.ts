import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError, readSettings } from '../../server/config.ts';
import { createTestDatabase } from '../support/database.ts';
import { spawnService, untilReady } from '../support/whole-service.ts';

describe('npm start', () => {
  const refusal = async (
    environment: Record<string, string>,
    args: string[] = [],
  ): Promise<string> => {
    const service = await spawnService(environment, { args });
    const code = await service.exited;
    expect(code, service.told()).to.equal(1);
    expect(service.logged()).to.equal('');
    return service.told().trim();
  };

  it('names every wrong setting in one sentence and never its value', async () => {
    expect(await refusal({ ROLE: 'everything', PROCESSES: 'many-secrets' })).to.equal(
      'ROLE must be one of all, api, worker; PROCESSES must be a whole number from 1 to 64.',
    );
    expect(
      await refusal({ DATABASE_URL: 'postgres://a:secret@127.0.0.1:1/b', ADMIN_TOKEN: '' }),
    ).to.match(/^ADMIN_TOKEN .* must be set together with DATABASE_URL/);
    expect(await refusal({ ADMIN_TOKEN: 'secret-but-short' })).to.equal(
      'ADMIN_TOKEN must have at least 32 characters.',
    );
  });

  it('refuses networks that are none, and one port for both sides, before anything is started', () => {
    const refusalOf = (environment: Record<string, string>): string => {
      try {
        readSettings(environment);
      } catch (error: unknown) {
        if (error instanceof ConfigError) return error.message;
        throw error;
      }
      return 'accepted';
    };
    for (const network of [
      '10.0.0.0/33',
      '2001:db8::/129',
      'abc',
      '1.2.3',
      '10.0.0.0/',
      '1.2.3.4/8/8',
      ',',
    ]) {
      expect(refusalOf({ TRUSTED_PROXIES: network }), network).to.equal(
        'TRUSTED_PROXIES must be networks such as 10.0.0.0/8,192.0.2.7.',
      );
    }
    for (const network of ['10.0.0.0/8, 192.0.2.7', '2001:db8::/32,::1', '0.0.0.0/0']) {
      expect(refusalOf({ TRUSTED_PROXIES: network }), network).to.equal('accepted');
    }
    expect(refusalOf({ PORT: '8081', ADMIN_PORT: '8081' })).to.match(/^ADMIN_PORT must differ/);
  });

  it('says what is wrong with a folder that cannot be made and an address that is not its own', async function () {
    expect(await refusal({ DATA_DIR: '/proc/none', ADMIN_TOKEN: '', SECRETS_KEY: '' })).to.match(
      /^DATA_DIR cannot be made/,
    );
    const database = await createTestDatabase();
    expect(
      await refusal({
        DATABASE_URL: database.appUrl,
        MIGRATION_DATABASE_URL: database.ownerUrl,
        HOST: '256.1.1.1',
      }),
    ).to.match(/^HOST is not an address of this machine/);
    await database.drop();
  });

  it('refuses an unknown option', async () => {
    expect(await refusal({}, ['--quick'])).to.include('--quick');
  });

  it('says which port is in use and what to do', async () => {
    const database = await createTestDatabase();
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    const address = blocker.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const service = await spawnService(
      { DATABASE_URL: database.appUrl, MIGRATION_DATABASE_URL: database.ownerUrl },
      { port },
    );
    expect(await service.exited).to.equal(1);
    expect(service.told().trim()).to.equal(
      `Port ${port} is in use; stop the program that listens there or set PORT to another one.`,
    );
    await new Promise((resolve) => blocker.close(resolve));
    await database.drop();
  });

  it('refuses a schema that a newer version made', async () => {
    const database = await createTestDatabase();
    await database.query(
      `insert into schema_migration (name, executed_at) values ('9999-from-the-future', now())`,
    );
    const service = await spawnService({
      DATABASE_URL: database.appUrl,
      MIGRATION_DATABASE_URL: database.ownerUrl,
    });
    expect(await service.exited, service.told()).to.equal(1);
    expect(service.told()).to.include('9999-from-the-future').and.to.include('newer version');
    await database.drop();
  });

  it('migrates an empty database once when several processes start at the same time', async () => {
    const database = await createTestDatabase({ migrated: false });
    const services = await Promise.all(
      [1, 2, 3].map(() =>
        spawnService({ DATABASE_URL: database.appUrl, MIGRATION_DATABASE_URL: database.ownerUrl }),
      ),
    );
    await Promise.all(services.map((service) => untilReady(service)));
    const names = await database.query('select name from schema_migration order by name');
    expect(new Set(names.map((row) => row['name'])).size).to.equal(names.length);
    for (const service of services) expect(await service.stop()).to.equal(0);
    await database.drop();
  });

  it('runs several API processes on one port, replaces one that dies and stops them all', async () => {
    const database = await createTestDatabase();
    const service = await spawnService({
      DATABASE_URL: database.appUrl,
      MIGRATION_DATABASE_URL: database.ownerUrl,
      PROCESSES: '2',
    });
    await untilReady(service);
    const pid = service.process.pid ?? 0;
    const children = (): string[] =>
      readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    const [victim, survivor] = children();
    process.kill(Number(victim), 'SIGKILL');
    const deadline = performance.now() + 40_000;
    while (children().length < 2 || children().includes(victim ?? '')) {
      if (performance.now() > deadline) throw new Error('the dead process was not replaced');
      await sleep(50);
    }
    expect(children()).to.include(survivor);
    await untilReady(service);
    expect(await service.stop()).to.equal(0);
    await database.drop();
  });
});
