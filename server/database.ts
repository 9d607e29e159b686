import type { Settings } from './config.ts';
import { startEmbeddedPostgres } from './embedded-postgres/index.ts';
import type { DatabaseUrls } from './service.ts';

/** The database of this process: the embedded one, owned until `stop`, or somebody else's. */
export interface Database extends DatabaseUrls {
  readonly embedded: boolean;
  stop(): Promise<void>;
}

/** Starts the embedded database, or takes the given one. @throws EmbeddedPostgresError with one sentence */
export async function openDatabase(
  settings: Settings,
  tell: (line: string) => void,
): Promise<Database> {
  if (settings.DATABASE_URL !== undefined) {
    return {
      embedded: false,
      appUrl: settings.DATABASE_URL,
      ownerUrl: settings.MIGRATION_DATABASE_URL ?? settings.DATABASE_URL,
      stop: () => Promise.resolve(),
    };
  }
  const server = await startEmbeddedPostgres({ dataDir: settings.DATA_DIR, log: tell });
  return {
    embedded: true,
    appUrl: server.appUrl,
    ownerUrl: server.ownerUrl,
    stop: () => server.stop(),
  };
}
