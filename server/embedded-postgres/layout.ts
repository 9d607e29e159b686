import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Account } from './account.ts';
import { canEnter } from './account.ts';
import { codeOf, EmbeddedPostgresError } from './errors.ts';

/** Where root keeps what another user must reach while DATA_DIR lies under a closed directory. */
export const SYSTEM_DIRECTORY = '/var/lib/transaction-risk';

/** Everything the embedded database keeps in `DATA_DIR/postgres`. */
export interface Home {
  readonly directory: string;
  /** Locked while a service owns this DATA_DIR. */
  readonly lock: string;
  /** Process id of that service, only to name it to people. */
  readonly serviceProcess: string;
  readonly ownerPassword: string;
  readonly appPassword: string;
  /** The cluster's own number: data exchanged underneath is noticed. */
  readonly systemIdentifier: string;
  /** Names the directory of the data where it is not here. */
  readonly location: string;
}

/** Where the cluster itself is: in `DATA_DIR/postgres`, or in a directory of its own that its user can reach. */
export interface DataPlace {
  readonly directory: string;
  readonly data: string;
  readonly log: string;
}

/** Opens `DATA_DIR/postgres`, making it if needed. @throws EmbeddedPostgresError where it holds somebody else's files */
export function openHome(dataDir: string): Home {
  const root = resolve(dataDir);
  if (existsSync(join(root, 'PG_VERSION'))) {
    throw new EmbeddedPostgresError(
      `${root} is the data directory of another PostgreSQL server: set DATA_DIR to a directory of its own.`,
    );
  }
  // Root's directories stay passable (not readable), because the server runs as another user; files inside are 0600.
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
  const directory = join(root, 'postgres');
  makeDirectory(directory, mode);
  const home = homeIn(realpathSync(directory));
  // What may be there before the first password is: its presence marks the directory as ours.
  const first = [home.lock, home.serviceProcess, `${home.ownerPassword}.partial`];
  const ours: readonly string[] = first.map((path) => basename(path));
  const foreign = readdirSync(directory).find((name) => !ours.includes(name));
  if (foreign !== undefined && !existsSync(home.ownerPassword)) {
    throw new EmbeddedPostgresError(
      `${directory} holds files that this service did not make (${foreign}): set DATA_DIR to another directory, or move them away.`,
    );
  }
  return home;
}

/** Makes a directory and its parents. Not `recursive`, which reports a read-only file system as ENOENT. */
function makeDirectory(path: string, mode: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  if (dirname(path) !== path) makeDirectory(dirname(path), mode);
  try {
    mkdirSync(path, { mode });
  } catch (error: unknown) {
    // Another start may have made it at this moment.
    if (codeOf(error) !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}

function homeIn(directory: string): Home {
  return {
    directory,
    lock: join(directory, 'lock'),
    serviceProcess: join(directory, 'service.pid'),
    ownerPassword: join(directory, 'owner-password'),
    appPassword: join(directory, 'app-password'),
    systemIdentifier: join(directory, 'system-identifier'),
    location: join(directory, 'location'),
  };
}

function placeIn(directory: string): DataPlace {
  return {
    directory,
    data: join(directory, 'data'),
    log: join(directory, 'server.log'),
  };
}

/** Where the data of this home are; undefined before a place was chosen. */
export function findPlace(home: Home): DataPlace | undefined {
  const here = placeIn(home.directory);
  if (!existsSync(home.location)) {
    return existsSync(here.data) ? here : undefined;
  }
  const place = placeIn(readFileSync(home.location, 'utf8').trim());
  const back = join(place.directory, 'belongs-to');
  if (!existsSync(back)) {
    throw new EmbeddedPostgresError(
      `${home.location} names ${place.directory}, which is missing: restore it, or delete ${home.directory} to begin with an empty database.`,
    );
  }
  const owner = readFileSync(back, 'utf8').trim();
  if (owner !== home.directory) {
    // A copy of a DATA_DIR must not work on the original's data; one that was moved takes its data along.
    if (existsSync(join(owner, 'location'))) {
      throw new EmbeddedPostgresError(
        `${home.directory} is a copy of ${owner}, whose data lie in ${place.directory}: delete the copy, or set another DATA_DIR.`,
      );
    }
    writeDurably(back, `${home.directory}\n`);
  }
  return place;
}

/**
 * Chooses where a first start puts the data: beside the rest, or under {@link SYSTEM_DIRECTORY} where the server's user
 * cannot get there. Leaves a pointer in DATA_DIR and one back.
 */
export function choosePlace(
  home: Home,
  account: Account,
  log: (message: string) => void,
): DataPlace {
  if (canEnter(account, home.directory)) return placeIn(home.directory);
  const hash = createHash('sha256').update(home.directory).digest('hex').slice(0, 16);
  let directory = join(SYSTEM_DIRECTORY, hash);
  if (existsSync(directory)) {
    // The DATA_DIR of that data was deleted, and its password with it. Data are never deleted unasked.
    log(`Data of a deleted DATA_DIR remain in ${directory}; delete them if nobody needs them.`);
    directory = `${directory}-${randomBytes(4).toString('hex')}`;
  }
  mkdirSync(directory, { recursive: true, mode: 0o711 });
  chmodSync(SYSTEM_DIRECTORY, 0o755);
  chmodSync(directory, 0o711);
  writeDurably(join(directory, 'belongs-to'), `${home.directory}\n`);
  writeDurably(home.location, `${directory}\n`);
  log(`The database is kept in ${directory}, because its user cannot enter ${home.directory}.`);
  return placeIn(directory);
}

/** Reads a password of 256 random bits from its file (mode 0600), making it on first use. */
export function readOrMakePassword(path: string): string {
  if (!existsSync(path)) writeDurably(path, `${randomBytes(32).toString('base64url')}\n`);
  const password = readFileSync(path, 'utf8').trim();
  if (password === '') {
    throw new EmbeddedPostgresError(
      `The password file ${path} is empty: restore it from a backup of DATA_DIR.`,
    );
  }
  return password;
}

/** Writes a private file (0600) that is whole and on disk, or not there: a lost password would lock us out. */
export function writeDurably(path: string, content: string): void {
  const partial = `${path}.partial`;
  const file = openSync(partial, 'w', 0o600);
  try {
    writeSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(partial, path);
  syncDirectory(dirname(path));
}

/** Puts created and renamed names of a directory on disk. */
export function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
