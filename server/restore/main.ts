import { reachDatabase } from '../backup/reach-database.ts';
import { runCommand } from '../backup/run-command.ts';
import { restoreBackup } from './restore-backup.ts';

const HELP = `Fills an empty database from a backup.

  DATA_DIR=./restored npm run restore -- FOLDER      into a new embedded database
  DATABASE_URL=postgres://… npm run restore -- FOLDER      into a database of your own that has no tables yet

Where the application has a role of its own, set MIGRATION_DATABASE_URL too. Afterwards run npm run ledger:verify, and
start the service with the SECRETS_KEY of the old one.
Exit code: 0 restored, 1 not restored, 2 wrong usage, 3 the database cannot be reached.
`;

await runCommand({ help: HELP, positionals: 1 }, async ({ settings, positionals, tell }) => {
  const started = Date.now();
  const database = await reachDatabase(settings, tell);
  try {
    const rows = await restoreBackup({
      folder: positionals[0] ?? '',
      ...database,
      backend: settings.DATABASE_BACKEND,
      tell,
    });
    tell(
      `${rows} rows restored in ${((Date.now() - started) / 1000).toFixed(1)} s. Next: npm run ledger:verify`,
    );
    return 0;
  } finally {
    await database.release();
  }
});
