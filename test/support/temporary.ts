import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPostmaster, stopPostmaster } from '../../server/embedded-postgres/process.ts';

const PREFIX = 'transaction-risk-test-';

/**
 * A temporary directory whose data another user's server can reach (root's server runs as another user). Its name
 * carries our process id, so that a later run knows when it is abandoned. The caller removes it.
 */
export function makeTemporaryDirectory(): string {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), `${PREFIX}${process.pid}-`));
  chmodSync(directory, 0o711);
  return directory;
}

/** Ends servers and removes directories of test runs that were killed before they could. */
export async function removeAbandoned(): Promise<void> {
  const parent = realpathSync(tmpdir());
  for (const name of readdirSync(parent)) {
    const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]);
    if (Number.isNaN(pid) || isAlive(pid)) continue;
    const directory = join(parent, name);
    try {
      for (const data of dataDirectoriesIn(directory)) {
        const server = findPostmaster(data);
        if (server !== undefined) await stopPostmaster(server.pid, data, 10_000);
      }
      for (const mounted of mountsIn(directory)) spawnSync('umount', [mounted]);
      rmSync(directory, { recursive: true, force: true });
    } catch {
      // Another user's, or being removed by another run: no reason to fail this one.
    }
  }
}

function mountsIn(directory: string): string[] {
  if (!existsSync('/proc/mounts')) return [];
  const points = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  return points.filter((point) => point.startsWith(`${directory}/`));
}

function dataDirectoriesIn(directory: string): string[] {
  const found = [directory, ...subdirectories(directory)];
  return found.map((parent) => join(parent, 'postgres', 'data'));
}

function subdirectories(directory: string): string[] {
  const entries = readdirSync(directory, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => join(directory, entry.name));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error: unknown) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
