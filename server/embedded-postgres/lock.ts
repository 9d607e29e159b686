import { accessSync, constants, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { codeOf, EmbeddedPostgresError } from './errors.ts';
import type { Home } from './layout.ts';

/** Held by the one service that may start, stop or adopt the server of a DATA_DIR. */
export interface DirectoryLock {
  release(): void;
}

/**
 * Takes the lock of a DATA_DIR, for the time before the server can hold one of its own, and for as long as it runs.
 *
 * The file is an empty SQLite database locked exclusively, because that is a kernel lock Node can take: it is atomic,
 * and it ends with its process, however that dies. A file naming a process id has neither virtue (two starts may both
 * find it stale, and ids are reused or belong to another container).
 *
 * @throws EmbeddedPostgresError while another process, or another start in this one, holds it
 */
export function lockDirectory(home: Home): DirectoryLock {
  // SQLite would not say why it cannot write.
  accessSync(home.directory, constants.W_OK);
  makePrivateFile(home.lock);
  const database = new DatabaseSync(home.lock, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error: unknown) {
    database.close();
    if (isBusy(error)) throw alreadyRunning(home);
    throw error;
  }
  writeFileSync(home.serviceProcess, `${process.pid}\n`, { mode: 0o600 });
  let held = true;
  return {
    release() {
      if (!held) return;
      held = false;
      rmSync(home.serviceProcess, { force: true });
      database.close();
    },
  };
}

/** Closed to other users, who could otherwise lock it. Never opened here when it exists: closing it would end our own lock. */
function makePrivateFile(path: string): void {
  try {
    writeFileSync(path, '', { mode: 0o600, flag: 'wx' });
  } catch (error: unknown) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/** The sentence for a second start on the same DATA_DIR. */
export function alreadyRunning(home: Home): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `Another Transaction Risk service${ownerOf(home)} already runs on ${home.directory}: stop it first, or set another DATA_DIR and PORT.`,
  );
}

function ownerOf(home: Home): string {
  try {
    return ` (process ${readFileSync(home.serviceProcess, 'utf8').trim()})`;
  } catch {
    return '';
  }
}

/** SQLITE_BUSY, https://sqlite.org/rescode.html#busy */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === 5;
}
