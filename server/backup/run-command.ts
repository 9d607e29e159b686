import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { failureKind } from '../../ledger/failures.ts';
import { ConfigError, readDatabaseSettings, type DatabaseSettings } from '../config.ts';
import { EmbeddedPostgresError } from '../embedded-postgres/index.ts';
import { MigrationRefused } from '../migrate.ts';
import { BackupError } from './backup-error.ts';

/** Version of this program, from package.json. */
export const SERVICE_VERSION: string = (
  JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
    version: string;
  }
).version;

/** What a command is called with. */
export interface CommandCall {
  readonly settings: DatabaseSettings;
  readonly values: Readonly<Record<string, string | undefined>>;
  readonly flags: ReadonlySet<string>;
  /** What stands without a name. */
  readonly positionals: readonly string[];
  /** A line for the person at the terminal; results go to standard output. */
  readonly tell: (line: string) => void;
}

/** How a command wants its arguments. */
export interface CommandForm {
  readonly help: string;
  readonly arguments?: Readonly<Record<string, 'string' | 'boolean'>>;
  /** How many stand without a name. */
  readonly positionals?: number;
}

/** Runs a command beside the service and ends with its exit code; what a person can mend is one sentence. */
export async function runCommand(
  form: CommandForm,
  work: (call: CommandCall) => Promise<number>,
): Promise<void> {
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  let parsed;
  try {
    parsed = parseArgs({
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        ...Object.fromEntries(
          Object.entries(form.arguments ?? {}).map(([name, type]) => [name, { type }]),
        ),
      },
    });
  } catch (error: unknown) {
    tell(`${error instanceof Error ? error.message : 'Wrong usage.'}\n\n${form.help}`);
    process.exitCode = 2;
    return;
  }
  const { positionals } = parsed;
  const given = parsed.values as Record<string, string | boolean | undefined>;
  if (given['help'] === true) {
    process.stdout.write(form.help);
    return;
  }
  if (positionals.length !== (form.positionals ?? 0)) {
    tell(form.help);
    process.exitCode = 2;
    return;
  }
  try {
    process.exitCode = await work({
      settings: readDatabaseSettings(),
      values: Object.fromEntries(
        Object.entries(given).flatMap(([name, value]) =>
          typeof value === 'string' ? [[name, value]] : [],
        ),
      ),
      flags: new Set(Object.keys(given).filter((name) => given[name] === true)),
      positionals,
      tell,
    });
  } catch (error: unknown) {
    const isSentence =
      error instanceof BackupError ||
      error instanceof ConfigError ||
      error instanceof EmbeddedPostgresError ||
      error instanceof MigrationRefused;
    const away = failureKind(error) === 'unavailable';
    tell(
      isSentence
        ? error.message
        : away
          ? 'The database cannot be reached; check DATABASE_URL, or start the service once.'
          : `The command failed (${faultOf(error)}); nothing that it had begun is kept.`,
    );
    process.exitCode = error instanceof ConfigError ? 2 : away && !isSentence ? 3 : 1;
  }
}

/** What is said of a fault: class, code and table; the text of a database's error may hold values. */
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const { code, table } = error as { code?: unknown; table?: unknown };
  return [error.name, code, table].filter((part) => typeof part === 'string').join(' ');
}
