import { resolve } from 'node:path';
import { chooseAccount } from './account.ts';
import { findPostgresBinaries, makeUsable } from './binaries.ts';
import { wordFileError } from './errors.ts';
import { checkData, initialize } from './initialize.ts';
import { choosePlace, findPlace, openHome, readOrMakePassword } from './layout.ts';
import type { DirectoryLock } from './lock.ts';
import { lockDirectory } from './lock.ts';
import { OwnedServer } from './owned-server.ts';

export { EmbeddedPostgresError } from './errors.ts';
export { findPostgresBinaries } from './binaries.ts';

/** A running PostgreSQL server that this process owns. */
export interface EmbeddedPostgres {
  /** Database `transaction_risk` as its owner, a superuser. Holds a password: never log it. */
  readonly ownerUrl: string;
  /** The same database as the application's role, which owns nothing. Never log it. */
  readonly appUrl: string;
  /** Process id of the server; another one after it was restarted. */
  readonly pid: number;
  /** Fast shutdown, waited for; then another service may have the DATA_DIR. Safe to call twice and at any moment. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** Absolute or relative; made if missing. The database lies in `postgres` below it. */
  readonly dataDir: string;
  /** Receives what an operator should read, one line each, without secrets. */
  readonly log: (message: string) => void;
  /** Called after a server that had died runs again under the same URLs. */
  readonly onRestart?: () => void;
  /** Server settings that win over ours; for test clusters (`fsync`), never for a service. */
  readonly extraSettings?: Readonly<Record<string, string>>;
}

/**
 * Starts the database of a DATA_DIR and owns it: makes it on the first start, starts it on later ones, adopts a server
 * that survived a killed service. A server that dies while owned is started again on the same port, in the background.
 *
 * The server outlives this process unless `stop` is called: after a crash the next start finds it warm.
 *
 * @throws EmbeddedPostgresError with one sentence for a person; nothing is running then that was not before
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const directory = resolve(options.dataDir);
  let lock: DirectoryLock | undefined;
  try {
    // Before anything is written: on a platform without binaries nothing should be left behind.
    const binaries = findPostgresBinaries();
    const home = openHome(directory);
    lock = lockDirectory(home);
    const existing = findPlace(home);
    const account = chooseAccount(existing === undefined ? [] : [existing.data]);
    const usable = makeUsable(binaries, account, options.log);
    const place = existing ?? choosePlace(home, account, options.log);
    const password = readOrMakePassword(home.ownerPassword);
    const appPassword = readOrMakePassword(home.appPassword);
    await initialize(home, place, { binaries: usable, account, password, log: options.log });
    checkData(home, place, usable, account);
    const abort = new AbortController();
    const launcher = {
      place,
      binaries: usable,
      account,
      extraSettings: options.extraSettings ?? {},
      signal: abort.signal,
      log: options.log,
    };
    const { onRestart } = options;
    const parts = { home, lock, launcher, abort, password, appPassword, onRestart };
    const server = new OwnedServer(parts);
    await server.start();
    return server;
  } catch (error: unknown) {
    lock?.release();
    throw wordFileError(error, directory);
  }
}
