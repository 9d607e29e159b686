import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { OWNER_ROLE } from './initialize.ts';
import { findPlace, openHome, readOrMakePassword } from './layout.ts';
import { localUrl } from './ownership.ts';
import { findPostmaster } from './process.ts';
import { APP_ROLE, DATABASE_NAME } from './roles.ts';

/**
 * How to reach the server that runs on a DATA_DIR right now, for a command beside the service that owns it; undefined
 * when none does. Changes nothing. Both URLs hold a password: never log them.
 */
export function findRunning(
  dataDir: string,
): { readonly ownerUrl: string; readonly appUrl: string } | undefined {
  const directory = resolve(dataDir);
  if (!existsSync(`${directory}/postgres`)) return undefined;
  const home = openHome(directory);
  const place = findPlace(home);
  const server = place === undefined ? undefined : findPostmaster(place.data);
  if (server?.status !== 'ready') return undefined;
  const url = (role: string, passwordFile: string): string =>
    localUrl(role, readOrMakePassword(passwordFile), server.port, DATABASE_NAME);
  return {
    ownerUrl: url(OWNER_ROLE, home.ownerPassword),
    appUrl: url(APP_ROLE, home.appPassword),
  };
}
