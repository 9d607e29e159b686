import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { startEmbeddedPostgres } from '../../server/embedded-postgres/index.ts';
import { migrateDatabase } from '../../server/migrate.ts';
import { query } from '../support/embedded.ts';
import { makeTemporaryDirectory } from '../support/temporary.ts';
import { freePort } from '../support/whole-service.ts';

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly told: string;
}

/** Runs a command of package.json as a person does. */
function command(
  name: 'backup' | 'restore' | 'ledger-verify',
  environment: Record<string, string>,
  ...args: string[]
): Promise<Ended> {
  const script = join(import.meta.dirname, '../../server', name, 'main.ts');
  const child = spawn(process.execPath, [script, ...args], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let told = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (told += text));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, told })));
}

describe('npm run backup, restore and ledger:verify on the embedded database', () => {
  const root = makeTemporaryDirectory();
  const dataDir = join(root, 'data');
  const folder = join(root, 'backup');

  after(() => rmSync(root, { recursive: true, force: true }));

  it('take a running one to another DATA_DIR, and end with codes that mean something', async () => {
    const server = await startEmbeddedPostgres({ dataDir, log: () => undefined });
    try {
      await migrateDatabase(server);
      await query(
        server.ownerUrl,
        `insert into site (code, name, customer_type, default_subject, created_at)
         values ('kept', 'Kept', 'SINGLE_COMPANY', 'subject', now())`,
      );
      const made = await command('backup', { DATA_DIR: dataDir }, '--out', folder);
      expect(made, made.told).to.include({ code: 0, out: `${folder}\n` });
      expect(made.told).not.to.match(/postgres:\/\//);
    } finally {
      await server.stop();
    }
    const target = { DATA_DIR: join(root, 'restored') };
    const restored = await command('restore', target, folder);
    expect(restored.code, restored.told).to.equal(0);
    const verified = await command('ledger-verify', target, '--json');
    expect(verified.code, verified.told).to.equal(0);
    expect(JSON.parse(verified.out)).to.include({ sound: true, rows: 0 });
  });

  it('say in one sentence what is wrong with a call', async () => {
    const nowhere = `postgres://nobody:nothing@127.0.0.1:${await freePort()}/none`;
    const away = { DATABASE_URL: nowhere };
    const [usage, unknown, help, noFolder, noDatabase] = await Promise.all([
      command('restore', away),
      command('backup', away, '--outt', 'x'),
      command('ledger-verify', away, '--help'),
      command('restore', away, join(root, 'none')),
      command('ledger-verify', away),
    ]);
    expect(usage.code).to.equal(2);
    expect(unknown.code).to.equal(2);
    expect(help).to.include({ code: 0, told: '' });
    expect(noFolder.code).to.equal(1);
    expect(noFolder.told).to.include('is not a complete backup');
    expect(noDatabase.code).to.equal(3);
    expect(noDatabase.told).to.equal(
      'The database cannot be reached; check DATABASE_URL, or start the service once.\n',
    );
  });
});
