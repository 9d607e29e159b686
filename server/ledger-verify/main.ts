import { reachDatabase } from '../backup/reach-database.ts';
import { runCommand } from '../backup/run-command.ts';
import { verifyLedger, type Verification } from './verify-ledger.ts';

const HELP = `Holds the ledger against itself: payload hashes, rows against those they are about, counters against rows.

  npm run ledger:verify                the database of DATA_DIR or DATABASE_URL
  npm run ledger:verify -- --json      the result as JSON

It reads only, and the service may go on working. A restored database should pass it before it is used.
Exit code: 0 sound, 1 deviations, 2 wrong usage, 3 the database cannot be reached.
`;

await runCommand(
  { help: HELP, arguments: { json: 'boolean' } },
  async ({ settings, flags, tell }) => {
    const database = await reachDatabase(settings, tell);
    try {
      const result = await verifyLedger({ url: database.ownerUrl, now: Date.now(), tell });
      process.stdout.write(`${flags.has('json') ? JSON.stringify(result) : textOf(result)}\n`);
      return result.sound ? 0 : 1;
    } finally {
      await database.release();
    }
  },
);

function textOf({ rows, hashed, checks, sound }: Verification): string {
  const lines = checks.flatMap(({ name, deviations, named, says, advice }) => [
    `${deviations === 0 ? 'ok    ' : advice ? 'advice' : 'WRONG '}  ${name}`,
    ...(deviations === 0 ? [] : [`        ${deviations} ${says}:`]),
    ...named.map((what) => `          ${what}`),
    ...(deviations > named.length ? [`          and ${deviations - named.length} more`] : []),
  ]);
  return [
    ...lines,
    '',
    `${rows} ledger rows, ${hashed} payloads hashed: ${sound ? 'sound' : 'NOT sound'}`,
  ].join('\n');
}
