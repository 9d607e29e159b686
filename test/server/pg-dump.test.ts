import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { verifyLedger } from '../../server/ledger-verify/verify-ledger.ts';
import { migrateDatabase } from '../../server/migrate.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventOf, merchant } from '../support/merchant.ts';
import { runService } from '../support/running-service.ts';
import { makeTemporaryDirectory } from '../support/temporary.ts';

/** Where Debian puts the programs of each version; elsewhere they are on the PATH. */
const DEBIAN = '/usr/lib/postgresql';

/** Folders that may hold pg_dump, newest version first. */
const folders = [
  ...(existsSync(DEBIAN) ? readdirSync(DEBIAN) : [])
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(DEBIAN, version, 'bin')),
  ...(process.env['PATH'] ?? '').split(':'),
];

describe("an external database's own tools", () => {
  const root = makeTemporaryDirectory();
  after(() => rmSync(root, { recursive: true, force: true }));

  it('pg_dump and pg_restore bring back a ledger that passes ledger:verify and goes on', async function () {
    const bin = folders.find((folder) => existsSync(join(folder, 'pg_dump')));
    const database = await createTestDatabase();
    const restored = await createTestDatabase({ migrated: false });
    try {
      const [server] = await database.query<{ major: number }>(
        `select current_setting('server_version_num')::int / 10000 as major`,
      );
      const version = bin === undefined ? '' : run(join(bin, 'pg_dump'), ['--version']);
      // The embedded database ships no pg_dump, and an older one refuses a newer server.
      if (bin === undefined || Number(/ (\d+)/.exec(version)?.[1]) < (server?.major ?? 0)) {
        this.skip();
      }
      let service = await runService({ database });
      const { apiKey } = await (await service.createSite()).issue();
      const { body } = await merchant(service.url, apiKey).submit(eventOf());
      await merchant(service.url, apiKey).evaluated(body.ingestion_id);
      await service.stop();

      const file = join(root, 'dump');
      run(join(bin, 'pg_dump'), ['--format=custom', `--file=${file}`, database.ownerUrl]);
      run(join(bin, 'pg_restore'), [
        '--no-owner',
        '--no-privileges',
        '--exit-on-error',
        `--dbname=${restored.ownerUrl}`,
        file,
      ]);
      await migrateDatabase(restored);
      const result = await verifyLedger({
        url: restored.ownerUrl,
        now: Date.now(),
        tell: () => undefined,
      });
      expect(result).to.include({ sound: true, rows: 1, hashed: 1 });
      service = await runService({ database: restored });
      const shop = merchant(service.url, apiKey);
      expect((await shop.ingestion(body.ingestion_id)).body.evaluation_status).to.equal(
        'SUCCEEDED',
      );
      const next = await shop.submit(eventOf());
      await shop.evaluated(next.body.ingestion_id);
      await service.stop();
    } finally {
      await database.drop();
      await restored.drop();
    }
  });
});

/** Runs a program. @throws Error with its complaint */
function run(program: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
  return stdout;
}
