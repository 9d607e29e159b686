import { runCommand, SERVICE_VERSION } from './run-command.ts';
import { reachDatabase } from './reach-database.ts';
import { writeBackup } from './write-backup.ts';

const HELP = `Writes the whole database as of one instant into a new folder; the service goes on working.

  npm run backup                       into ./backups/<time>
  npm run backup -- --out FOLDER       into FOLDER, which must not exist yet

The database is the embedded one of DATA_DIR, or the one that DATABASE_URL (MIGRATION_DATABASE_URL) names. The files hold
payloads: keep them as safe as the database. They do not hold SECRETS_KEY and ADMIN_TOKEN: keep those too, elsewhere.
Exit code: 0 made, 1 not made, 2 wrong usage, 3 the database cannot be reached.
`;

await runCommand(
  { help: HELP, arguments: { out: 'string' } },
  async ({ settings, values, tell }) => {
    const now = Date.now();
    const name = new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
    const database = await reachDatabase(settings, tell);
    try {
      const { folder, rows, bytes } = await writeBackup({
        ownerUrl: database.ownerUrl,
        folder: values['out'] ?? `backups/${name}Z`,
        serviceVersion: SERVICE_VERSION,
        now,
        tell,
      });
      tell(
        `${rows} rows, ${(bytes / 1_048_576).toFixed(1)} MB, ${((Date.now() - now) / 1000).toFixed(1)} s.`,
      );
      process.stdout.write(`${folder}\n`);
      return 0;
    } finally {
      await database.release();
    }
  },
);
