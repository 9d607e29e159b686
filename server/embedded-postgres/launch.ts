import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Account } from './account.ts';
import { give, PROGRAM_ENVIRONMENT } from './account.ts';
import type { UsableBinaries } from './binaries.ts';
import { diskFull, EmbeddedPostgresError } from './errors.ts';
import type { DataPlace } from './layout.ts';
import { choosePort } from './port.ts';
import type { Postmaster } from './process.ts';
import { findPostmaster, removeMisleadingPidFile } from './process.ts';
import { chooseWalCompression, settingsText, writeSettings } from './settings.ts';

/** What is needed to run the server of one place. */
export interface Launcher {
  readonly place: DataPlace;
  readonly binaries: UsableBinaries;
  readonly account: Account;
  readonly extraSettings: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly log: (message: string) => void;
}

/** A server that is ready. */
export interface Running extends Postmaster {
  /** Whether this call started it; false: it was running already. */
  readonly started: boolean;
}

/** How long a start is tried again while backends of a killed server still hold its shared memory. */
const OLD_BACKENDS_MS = 10_000;
const LOG_LIMIT_BYTES = 10 * 1024 * 1024;
const POLL_MS = 15;
const PROGRESS_MS = 10_000;

/** The settings file's text for a server on this port, with what these binaries can do. */
export function settingsFor(launcher: Launcher, port: number): string {
  const { binaries, place, account, extraSettings } = launcher;
  const compression = chooseWalCompression(binaries, place.data, account);
  return settingsText(port, compression, extraSettings);
}

/**
 * Finds the server of this place ready, or starts it and waits for it, crash recovery included.
 *
 * @param wanted  `fixed`: this port or an error, since clients know it; otherwise another one if it is taken
 * @throws EmbeddedPostgresError with the server's own reason; the signal's reason when it is aborted
 */
export async function ensureRunning(
  launcher: Launcher,
  wanted: { port: number | undefined; fixed?: boolean },
): Promise<Running> {
  const { place, log, signal } = launcher;
  const deadline = performance.now() + OLD_BACKENDS_MS;
  let preferred = wanted.port;
  for (;;) {
    signal.throwIfAborted();
    const found = findPostmaster(place.data);
    if (found !== undefined) {
      const ready = await waitUntilReady(launcher, found.pid, undefined);
      if (ready !== undefined) return { ...ready, started: false };
      continue;
    }
    removeMisleadingPidFile(place.data, log);
    const port = wanted.fixed && preferred !== undefined ? preferred : await choosePort(preferred);
    writeSettings(place.data, settingsFor(launcher, port), launcher.account);
    const attempt = launch(launcher);
    const ready = await waitUntilReady(launcher, attempt.pid, attempt.hasExited).catch(
      async (error: unknown) => {
        await attempt.giveUp();
        throw error;
      },
    );
    if (ready !== undefined) return { ...ready, started: true };
    const output = attempt.output();
    if (/Address already in use|could not bind/.test(output) && !wanted.fixed) {
      preferred = undefined;
    } else if (isHeldByOldBackends(output) && performance.now() < deadline) {
      await sleep(200, undefined, { signal });
    } else {
      throw wordFailure(output, launcher, port);
    }
  }
}

/** Runs the server in a session of its own, so that it outlives us, and a signal to our process group passes it by. */
function launch(launcher: Launcher) {
  const { binaries, place, account } = launcher;
  if ((statSync(place.log, { throwIfNoEntry: false })?.size ?? 0) > LOG_LIMIT_BYTES) {
    renameSync(place.log, `${place.log}.1`);
  }
  const file = openSync(place.log, 'a+', 0o600);
  chmodSync(place.log, 0o600);
  give(place.log, account);
  const begin = fstatSync(file).size;
  let exited = false;
  // It outlives us, so it must not keep us alive, except while we wait for its end.
  // Not pg_ctl start: a child of ours tells at once when it ends (pg_ctl polls each 100 ms) and never stays a zombie
  // where this service is process 1 of a container.
  const child = spawn(binaries.postgres, ['-D', place.data], {
    ...account,
    cwd: '/',
    env: PROGRAM_ENVIRONMENT,
    detached: true,
    stdio: ['ignore', file, file],
  });
  closeSync(file);
  child.on('exit', () => (exited = true)).on('error', () => (exited = true));
  child.unref();
  return {
    pid: child.pid ?? 0,
    hasExited: () => exited,
    /** Ends a server that is still starting, when it is no longer wanted. */
    async giveUp() {
      if (exited) return;
      child.ref();
      child.kill('SIGINT');
      await once(child, 'exit');
    },
    output: () => readFrom(place.log, begin),
  };
}

function readFrom(path: string, begin: number): string {
  const file = openSync(path, 'r');
  try {
    const text = Buffer.alloc(64 * 1024);
    return text.toString('utf8', 0, readSync(file, text, 0, text.length, begin));
  } finally {
    closeSync(file);
  }
}

/** Waits without limit, since recovery after a crash takes what it takes. @returns undefined once the process ended */
async function waitUntilReady(
  launcher: Launcher,
  pid: number,
  hasExited: (() => boolean) | undefined,
): Promise<Postmaster | undefined> {
  const { place, log, signal } = launcher;
  let nextWord = performance.now() + PROGRESS_MS;
  for (;;) {
    const found = findPostmaster(place.data);
    if (found?.pid === pid && found.status === 'ready') return found;
    // A child of ours may not have written its file yet; any other process must be found by it.
    if (hasExited === undefined ? found?.pid !== pid : hasExited()) return undefined;
    if (performance.now() > nextWord) {
      log(`Still waiting for the database (${found?.status ?? 'starting'}); see ${place.log}.`);
      nextWord += PROGRESS_MS;
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

function isHeldByOldBackends(output: string): boolean {
  return /pre-existing shared memory block|lock file "postmaster.pid" already exists|lock file "postmaster.pid" is empty/.test(
    output,
  );
}

function wordFailure(output: string, launcher: Launcher, port: number): EmbeddedPostgresError {
  const { place } = launcher;
  if (output.includes('No space left on device')) return diskFull(place.directory);
  if (/Address already in use|could not bind/.test(output)) {
    return new EmbeddedPostgresError(
      `Port ${port} of the database is taken by another program: end that program.`,
    );
  }
  if (isHeldByOldBackends(output)) {
    return new EmbeddedPostgresError(
      `Processes of a killed server still work on ${place.data}: wait until they have ended, or end them, and start again.`,
    );
  }
  if (/could not (map anonymous shared memory|create shared memory|resize shared)/.test(output)) {
    return new EmbeddedPostgresError(
      'There is not enough memory for the embedded database (it needs about 400 MB): free some, or set DATABASE_URL.',
    );
  }
  const fatal = /(?:FATAL|PANIC): {2}(.*)/.exec(output)?.[1] ?? 'it ended without a message';
  return new EmbeddedPostgresError(
    `The embedded database could not be started (${fatal}): see ${place.log} and correct the cause.`,
  );
}
