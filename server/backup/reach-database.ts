import type { DatabaseSettings } from '../config.ts';
import { startEmbeddedPostgres } from '../embedded-postgres/index.ts';
import { findRunning } from '../embedded-postgres/running.ts';
import type { DatabaseUrls } from '../service.ts';

/** A database for one command. */
export interface ReachedDatabase extends DatabaseUrls {
  release(): Promise<void>;
}

/**
 * The service's database for a command beside it: the one DATABASE_URL names, or the embedded one, which is used as it
 * runs, or started for the time of the command where it does not.
 *
 * @throws EmbeddedPostgresError with one sentence
 */
export async function reachDatabase(
  settings: DatabaseSettings,
  tell: (line: string) => void,
): Promise<ReachedDatabase> {
  if (settings.DATABASE_URL !== undefined) {
    return {
      appUrl: settings.DATABASE_URL,
      ownerUrl: settings.MIGRATION_DATABASE_URL ?? settings.DATABASE_URL,
      release: () => Promise.resolve(),
    };
  }
  const running = findRunning(settings.DATA_DIR);
  if (running !== undefined) return { ...running, release: () => Promise.resolve() };
  const server = await startEmbeddedPostgres({ dataDir: settings.DATA_DIR, log: tell });
  return {
    appUrl: server.appUrl,
    ownerUrl: server.ownerUrl,
    release: () => server.stop(),
  };
}
