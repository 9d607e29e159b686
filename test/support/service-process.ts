import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ServiceMessage } from './embedded-postgres-process.ts';

/** A separate process that owns, or tried to own, an embedded database. */
export interface ServiceProcess {
  readonly process: ChildProcess;
  /** What it told first. */
  readonly first: ServiceMessage;
  /** Waits for what it tells next. */
  readonly next: () => Promise<ServiceMessage>;
  /** Kills it without warning, alone or with its process group, and waits until it is gone. */
  readonly kill: (what?: 'process' | 'group') => Promise<void>;
  /** Asks it to stop properly and waits. */
  readonly stop: () => Promise<void>;
}

/** Starts a process in a group of its own that owns the database of a DATA_DIR, and waits for its first word. */
export async function startService(
  dataDir: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess> {
  const script = join(import.meta.dirname, 'embedded-postgres-process.ts');
  const child = fork(script, [dataDir, JSON.stringify(settings)], { detached: true });
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  const next = async () => {
    const messages = (await once(child, 'message')) as [ServiceMessage];
    return messages[0];
  };
  const early = exited.then((): never => {
    throw new Error('The service process ended without a word.');
  });
  const first = await Promise.race([next(), early]);
  early.catch(() => undefined);
  return {
    process: child,
    first,
    next,
    async kill(what = 'process') {
      const pid = child.pid ?? 0;
      if (child.exitCode === null && child.signalCode === null) {
        process.kill(what === 'group' ? -pid : pid, 'SIGKILL');
      }
      await exited;
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await exited;
    },
  };
}
