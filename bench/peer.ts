import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startServer, type ServerProcess } from './service-process.ts';

const DIRECTORY = join(import.meta.dirname, 'peer');

/**
 * Installs what only the peer needs, into its own folder, unless that was done before.
 *
 * @returns false when the registry cannot be reached: the bench then goes on without the peer
 */
export function installPeer(): boolean {
  const installed = (): boolean => existsSync(join(DIRECTORY, 'node_modules/fastify/package.json'));
  if (installed()) return true;
  const args = [
    'install',
    '--prefix',
    DIRECTORY,
    '--ignore-scripts',
    '--no-audit',
    '--no-package-lock',
    '--no-fund',
    '--loglevel=error',
  ];
  spawnSync('npm', args, {
    stdio: 'ignore',
    timeout: 120_000,
    shell: process.platform === 'win32',
  });
  return installed();
}

/** Starts the peer on a database that is migrated already. */
export async function startPeer(databaseUrl: string): Promise<ServerProcess> {
  return startServer([join(DIRECTORY, 'server.mjs')], '/healthz', { DATABASE_URL: databaseUrl });
}
