import { spawnSync } from 'node:child_process';
import { chmodSync, lchownSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedPostgresError } from './errors.ts';

/** The operating-system user the server runs as where the service itself runs as root. */
export const ACCOUNT_NAME = 'transaction-risk';

/** Whom PostgreSQL's programs run as; undefined: the service's own user. */
export type Account = { readonly uid: number; readonly gid: number } | undefined;

/** What PostgreSQL's programs get to see: no PG* variable of the caller, messages in English (they are recognised by it). */
export const PROGRAM_ENVIRONMENT = {
  PATH: process.env['PATH'] ?? '/usr/bin:/bin',
  LC_ALL: 'C',
} as const;

/**
 * Decides whom the server runs as. PostgreSQL refuses root, so root uses the owner of data that exists already (so that
 * data made by an ordinary user stays that user's), else the system user {@link ACCOUNT_NAME}, made on first use.
 *
 * @param dataDirectories  where data may already be
 * @throws EmbeddedPostgresError where the user is missing and cannot be made
 */
export function chooseAccount(dataDirectories: readonly string[]): Account {
  if (process.getuid?.() !== 0) return undefined;
  for (const directory of dataDirectories) {
    const stat = statSync(directory, { throwIfNoEntry: false });
    if (stat !== undefined && stat.uid !== 0) return { uid: stat.uid, gid: stat.gid };
  }
  return findAccount() ?? createAccount();
}

function findAccount(): Account {
  const uid = numberFrom('id', ['-u', ACCOUNT_NAME]);
  const gid = numberFrom('id', ['-g', ACCOUNT_NAME]);
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

function createAccount(): Account {
  const options = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'];
  const made = spawnSync('useradd', [...options, '--shell', '/usr/sbin/nologin', ACCOUNT_NAME], {
    encoding: 'utf8',
    cwd: '/',
  });
  // Another start may have made it at the same moment: what counts is that it exists now.
  const account = findAccount();
  if (account !== undefined) return account;
  const reason =
    made.error === undefined ? made.stderr.trim().split('\n').at(-1) : made.error.message;
  throw new EmbeddedPostgresError(
    `PostgreSQL refuses to run as root and its user "${ACCOUNT_NAME}" could not be created (${reason}): ` +
      'create that user, start the service as an ordinary user, or set DATABASE_URL.',
  );
}

function numberFrom(command: string, args: readonly string[]): number | undefined {
  const result = spawnSync(command, args, { encoding: 'utf8', cwd: '/' });
  return result.status === 0 && /^\d+\s*$/.test(result.stdout) ? Number(result.stdout) : undefined;
}

/** Whether the account can enter the directory, all of its parents included. True without an account. */
export function canEnter(account: Account, directory: string): boolean {
  if (account === undefined) return true;
  // Asked of the kernel as that user, since mode bits alone miss access lists and mount options.
  const result = spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', directory], {
    ...account,
    cwd: '/',
    env: PROGRAM_ENVIRONMENT,
  });
  return result.status === 0;
}

/** Gives one file or directory to the account; does nothing without one. */
export function give(path: string, account: Account): void {
  if (account !== undefined) lchownSync(path, account.uid, account.gid);
}

/** Gives a cluster's data directory and all it holds to the account, private to it, as PostgreSQL demands. */
export function giveTree(directory: string, account: Account): void {
  const uid = account?.uid;
  const isGiven = (path: string) => uid === undefined || lstatSync(path).uid === uid;
  // A look at two entries, since a whole tree of many partitions would cost every start.
  if (!isGiven(directory) || !isGiven(join(directory, 'PG_VERSION'))) {
    for (const entry of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
      const path = join(directory, entry);
      if (!isGiven(path)) give(path, account);
    }
    give(directory, account);
  }
  chmodSync(directory, 0o700);
}
