import { parseArgs } from 'node:util';
import { ConfigError, readSettings, type Settings } from './config.ts';
import { EmbeddedPostgresError } from './embedded-postgres/index.ts';
import { KeptFileError } from './kept-file.ts';
import { MigrationRefused } from './migrate.ts';
import { runPrimary } from './processes.ts';
import { runProcess } from './process.ts';
import { SecretsKeyRefused } from './secrets-fit.ts';

const HELP = `Transaction Risk service

  npm start                 the API and its workers, on an embedded PostgreSQL unless DATABASE_URL is set
  npm start -- --demo       the same, then a demo Site with a day of traffic is sent through it
  npm start -- --help       this text

Settings come from the environment (see README): PORT, HOST, ADMIN_PORT, DATABASE_URL, MIGRATION_DATABASE_URL,
DATABASE_BACKEND, DATA_DIR, ROLE, PROCESSES, ENVIRONMENT, ADMIN_TOKEN, SECRETS_KEY,
WEBHOOK_ALLOW_PRIVATE_NETWORKS, WEBHOOK_RETRY_SECONDS, WEBHOOK_RETENTION_DAYS, EVALUATION_THREADS,
EVALUATION_RETRY_LIMIT, EVALUATION_RETRY_DELAY_SECONDS, PAYLOAD_RETENTION_DAYS, TRUSTED_PROXIES, LOG_LEVEL.
`;

/** One sentence for what a person can mend; anything else is a fault of ours. */
function sentenceOf(error: unknown, settings: Settings | undefined): string | undefined {
  if (
    error instanceof ConfigError ||
    error instanceof EmbeddedPostgresError ||
    error instanceof MigrationRefused ||
    error instanceof SecretsKeyRefused ||
    error instanceof KeptFileError
  ) {
    return error.message;
  }
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const syscall = error instanceof Error && 'syscall' in error ? error.syscall : undefined;
  if (settings === undefined) return undefined;
  if (syscall === 'mkdir') {
    return `DATA_DIR cannot be made (${String(code)}); set it to a folder that this user may write.`;
  }
  // A name that cannot be found may be the database's as well; that one is not ours to listen on.
  const looked = error instanceof Error && 'hostname' in error ? error.hostname : undefined;
  if (syscall !== 'listen' && looked !== settings.HOST) return undefined;
  if (code === 'EADDRINUSE') {
    return `Port ${settings.PORT}${settings.ADMIN_PORT === undefined ? '' : ` or ${settings.ADMIN_PORT}`} is in use; stop the program that listens there or set PORT to another one.`;
  }
  if (code === 'EACCES') {
    return `Port ${settings.PORT} needs more rights; set PORT to a number above 1023.`;
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return 'HOST is not an address of this machine; set it to one, or to 0.0.0.0 for all.';
  }
  return undefined;
}

async function main(): Promise<void> {
  let settings: Settings | undefined;
  try {
    const { values } = parseArgs({
      options: { demo: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    });
    if (values.help === true) {
      process.stdout.write(HELP);
      return;
    }
    settings = readSettings();
    const demo = values.demo === true;
    await (settings.PROCESSES > 1 ? runPrimary(settings, demo) : runProcess(settings, demo));
  } catch (error: unknown) {
    const usage = error instanceof TypeError && 'code' in error ? error.message : undefined;
    const sentence = usage ?? sentenceOf(error, settings);
    process.stderr.write(`${sentence ?? `The service could not start: ${String(error)}`}\n`);
    process.exitCode = 1;
    // Nothing must keep a failed start alive.
    setTimeout(() => process.exit(1), 3_000).unref();
  }
}

await main();
