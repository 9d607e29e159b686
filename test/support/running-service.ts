import pino from 'pino';
import { systemClock, type Clock } from '../../ledger/clock.ts';
import { readSettings } from '../../server/config.ts';
import type { HttpTimes } from '../../server/http-server.ts';
import { chooseSecretsKeys } from '../../server/secrets-key.ts';
import { startService, type Service } from '../../server/service.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { createSite, type SiteOptions, type TestSite } from './site.ts';

/** The administrator of every service that tests start. */
export const ADMIN_TOKEN = 'test-administrator-token-0123456789abcdef';

/** Seals the secrets of every service that tests start. */
export const SECRETS_KEY = `test:${Buffer.alloc(32, 7).toString('base64')}`;

/** How a test wants its service. */
export interface RunOptions {
  readonly database?: TestDatabase;
  readonly clock?: Clock;
  readonly role?: 'all' | 'api' | 'worker';
  readonly times?: Partial<HttpTimes>;
  readonly environment?: Record<string, string>;
}

/** A service in this process, over HTTP on a port of its own, on a real database. */
export interface RunningService {
  readonly url: string;
  readonly port: number;
  readonly database: TestDatabase;
  readonly service: Service;
  /** Every log line so far. */
  readonly logLines: string[];
  createSite(options?: SiteOptions): Promise<TestSite>;
  /** Stops the service; drops the database if the service made it. */
  stop(): Promise<void>;
}

/** Starts a service and waits until it is ready. */
export async function runService(options: RunOptions = {}): Promise<RunningService> {
  const database = options.database ?? (await createTestDatabase());
  const logLines: string[] = [];
  const settings = readSettings({
    PORT: '0',
    DATABASE_URL: database.appUrl,
    MIGRATION_DATABASE_URL: database.ownerUrl,
    ADMIN_TOKEN,
    SECRETS_KEY,
    ROLE: options.role ?? 'all',
    ...options.environment,
  });
  const service = await startService({
    settings,
    secretsKeys: chooseSecretsKeys(settings),
    database: { appUrl: database.appUrl, ownerUrl: database.ownerUrl },
    adminToken: ADMIN_TOKEN,
    clock: options.clock ?? systemClock,
    log: pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) }),
    ...(options.times === undefined ? {} : { times: options.times }),
  });
  await service.ready;
  const port = service.port ?? 0;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    database,
    service,
    logLines,
    createSite: (site) => createSite(database, site),
    async stop() {
      await service.close();
      if (options.database === undefined) await database.drop();
    },
  };
}
