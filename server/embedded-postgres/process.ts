import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from './errors.ts';

/** A server found by the file it keeps in its data directory. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly status: 'starting' | 'ready' | 'stopping';
}

/**
 * The server that runs on a data directory; undefined when none does. What postmaster.pid says is believed only if that
 * process is a server working in this very directory: after a crash the id may belong to any program.
 */
export function findPostmaster(data: string): Postmaster | undefined {
  const lines = readPidFile(data);
  // A standalone backend writes a negative id; it is no server.
  const pid = Number(lines?.[0]);
  if (lines === undefined || !Number.isSafeInteger(pid) || pid <= 0) return undefined;
  if (!runsOn(pid, data)) return undefined;
  // Line meanings: PostgreSQL src/include/utils/pidfile.h.
  const status = lines[7]?.trim();
  return {
    pid,
    port: Number(lines[3] ?? 0),
    status: status === 'ready' || status === 'stopping' ? status : 'starting',
  };
}

function readPidFile(data: string): string[] | undefined {
  try {
    return readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  } catch (error: unknown) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether the process is a live PostgreSQL server of this data directory; a zombie is not. */
export function runsOn(pid: number, data: string): boolean {
  if (existsSync('/proc/self/stat')) {
    try {
      // A server's working directory is its data directory, also after that was moved.
      const comm = readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
      return comm === 'postgres' && readlinkSync(`/proc/${pid}/cwd`) === data;
    } catch {
      return false;
    }
  }
  const shown = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  return shown.stdout.includes('postgres') && shown.stdout.includes(data);
}

/**
 * Removes postmaster.pid if its id now belongs to another program: PostgreSQL would take that program for a server and
 * refuse to start. Left alone when the id is free, since PostgreSQL then also checks for old backends by it.
 */
export function removeMisleadingPidFile(data: string, log: (message: string) => void): void {
  const pid = Number(readPidFile(data)?.[0]);
  if (!Number.isSafeInteger(pid) || pid <= 0 || runsOn(pid, data)) return;
  try {
    process.kill(pid, 0);
  } catch (error: unknown) {
    if (codeOf(error) !== 'EPERM') return;
  }
  log(`Removing a stale postmaster.pid: process ${pid} is another program.`);
  rmSync(join(data, 'postmaster.pid'), { force: true });
}

/**
 * Asks a server of this data directory for a fast shutdown (sessions are ended, a checkpoint written) and waits for it.
 * Safe to repeat.
 *
 * @returns false if it has not ended after the time; it goes on shutting down
 */
export async function stopPostmaster(pid: number, data: string, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms;
  if (runsOn(pid, data)) process.kill(pid, 'SIGINT');
  while (runsOn(pid, data)) {
    if (performance.now() > deadline) return false;
    await sleep(15);
  }
  return true;
}
