import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { endianness } from 'node:os';
import { join } from 'node:path';
import type { Account } from './account.ts';
import { canEnter, give, giveTree, PROGRAM_ENVIRONMENT } from './account.ts';
import type { UsableBinaries } from './binaries.ts';
import { diskFull, EmbeddedPostgresError } from './errors.ts';
import type { DataPlace, Home } from './layout.ts';
import { syncDirectory, writeDurably } from './layout.ts';

/** Superuser of the cluster: migrations and upkeep, never the application. */
export const OWNER_ROLE = 'trk_owner';

/** What initdb works in is named so, and renamed when it is complete. */
const UNFINISHED_PREFIX = 'data.initializing-';

/**
 * Makes the cluster if there is none yet. initdb works in a directory aside that is renamed when complete, so a first
 * start that was cut short is recognised by that name and simply done again: nothing was in it.
 *
 * @throws EmbeddedPostgresError with initdb's own reason, or where existing data have been removed
 */
export async function initialize(
  home: Home,
  place: DataPlace,
  options: {
    binaries: UsableBinaries;
    account: Account;
    password: string;
    log: (message: string) => void;
  },
): Promise<void> {
  const { account, binaries, log } = options;
  const passwordFile = join(place.directory, 'initdb-password');
  removeUnfinished(place, log);
  rmSync(passwordFile, { force: true });
  if (existsSync(place.data)) return;
  if (existsSync(home.systemIdentifier)) {
    throw new EmbeddedPostgresError(
      `The database in ${place.data} is missing: restore it from a backup, or delete ${home.directory} to begin with an empty one.`,
    );
  }
  log(`Creating a PostgreSQL ${binaries.version} database in ${place.data}.`);
  // A new name each time: the initdb of a killed service may still be writing into the last one.
  const unfinished = mkdtempSync(join(place.directory, UNFINISHED_PREFIX));
  try {
    give(unfinished, account);
    // Not inside that directory (initdb wants it empty), nor standard input (another user cannot reopen ours).
    writeFileSync(passwordFile, `${options.password}\n`, { mode: 0o600, flag: 'wx' });
    give(passwordFile, account);
    await runInitdb(unfinished, place, binaries, account, passwordFile);
    renameSync(unfinished, place.data);
    syncDirectory(place.directory);
  } catch (error: unknown) {
    rmSync(unfinished, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

function removeUnfinished(place: DataPlace, log: (message: string) => void): void {
  for (const name of readdirSync(place.directory)) {
    if (!name.startsWith(UNFINISHED_PREFIX)) continue;
    log('An earlier first start was cut short before the database existed; beginning anew.');
    try {
      rmSync(join(place.directory, name), { recursive: true, force: true });
    } catch {
      // Its initdb is still at work; the next start removes the rest.
    }
  }
}

async function runInitdb(
  directory: string,
  place: DataPlace,
  binaries: UsableBinaries,
  account: Account,
  passwordFile: string,
): Promise<void> {
  const child = spawn(
    binaries.initdb,
    [
      `--pgdata=${directory}`,
      `--username=${OWNER_ROLE}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // Order by code point everywhere: the same on every machine, and no index breaks with a libc update.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--data-checksums',
    ],
    { ...account, cwd: '/', env: PROGRAM_ENVIRONMENT, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve);
  });
  if (code === 0) return;
  if (errors.includes('No space left on device')) throw diskFull(place.directory);
  if (errors.includes('could not look up effective user ID')) {
    throw new EmbeddedPostgresError(
      `PostgreSQL needs a user with a name, and uid ${process.getuid?.()} has none: add it to /etc/passwd, start the service as another user, or set DATABASE_URL.`,
    );
  }
  const lines = errors.split('\n').filter((line) => /error|fatal|could not/i.test(line));
  const reason = lines.at(-1)?.trim() ?? `exit code ${code}`;
  throw new EmbeddedPostgresError(
    `The database could not be created in ${place.data} (${reason}): correct the cause and start again, nothing was kept.`,
  );
}

/**
 * Checks that an existing data directory is the one this DATA_DIR was made with and fits the binaries, and gives it to
 * the account where a restored backup left it with root.
 *
 * @throws EmbeddedPostgresError on another major version, exchanged data, or a place the account cannot enter
 */
export function checkData(
  home: Home,
  place: DataPlace,
  binaries: UsableBinaries,
  account: Account,
): void {
  if (!canEnter(account, place.directory)) {
    throw new EmbeddedPostgresError(
      `PostgreSQL's user (uid ${account?.uid}) cannot enter ${place.directory}: allow it with "chmod o+x" on that directory and its parents.`,
    );
  }
  const versionFile = join(place.data, 'PG_VERSION');
  if (!existsSync(versionFile)) {
    throw new EmbeddedPostgresError(
      `${place.data} is not a PostgreSQL data directory: restore it from a backup, or set another DATA_DIR.`,
    );
  }
  const major = Number.parseInt(readFileSync(versionFile, 'utf8'), 10);
  if (major !== binaries.major) throw otherVersion(place, major, binaries);
  giveTree(place.data, account);
  const identifier = readSystemIdentifier(place);
  if (!existsSync(home.systemIdentifier)) {
    writeDurably(home.systemIdentifier, `${identifier}\n`);
  } else if (readFileSync(home.systemIdentifier, 'utf8').trim() !== identifier) {
    throw new EmbeddedPostgresError(
      `${place.data} is not the database that this DATA_DIR was made with: put the right one back, or delete ${home.systemIdentifier} if the exchange is meant.`,
    );
  }
}

function otherVersion(place: DataPlace, major: number, binaries: UsableBinaries) {
  return new EmbeddedPostgresError(
    major < binaries.major
      ? `${place.data} was made by PostgreSQL ${major} and this version brings ${binaries.major}: dump it with the version that made it and restore it here, or set another DATA_DIR.`
      : `${place.data} was made by the newer PostgreSQL ${major} and this version brings ${binaries.major}: start the version of the service that made it, or set another DATA_DIR.`,
  );
}

/**
 * The number initdb gave the cluster, as `pg_control_system()` shows it. It is the first field of pg_control
 * (PostgreSQL: src/include/catalog/pg_control.h); the packages bring no pg_controldata.
 */
export function readSystemIdentifier(place: DataPlace): string {
  const control = readFileSync(join(place.data, 'global', 'pg_control'));
  const value = endianness() === 'LE' ? control.readBigUInt64LE(0) : control.readBigUInt64BE(0);
  return value.toString();
}
