import type { RequestListener, Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../ledger/clock.ts';
import { failureKind } from '../ledger/failures.ts';
import { createSecretBox, type SecretsKey } from '../ledger/secret-box.ts';
import { findOperator } from '../ledger/operators.ts';
import { createAdminLogin, type AdminLogin } from './admin-login.ts';
import { createOperatorOf } from './admin-token.ts';
import { createApp } from './app.ts';
import { createAdminApp } from './admin-app.ts';
import type { Settings } from './config.ts';
import { createHttpServer, drain, HTTP_TIMES, listen, type HttpTimes } from './http-server.ts';
import { logFault } from './log.ts';
import { answerForMetrics } from './metrics-of-all.ts';
import { migrateDatabase, MigrationRefused } from './migrate.ts';
import { checkSecretsKeys, SecretsKeyRefused } from './secrets-fit.ts';
import { shedLoad } from './shed-load.ts';
import { wire, type Wiring } from './wire.ts';

/** Where the database is: as its owner and as the application's role. */
export interface DatabaseUrls {
  readonly ownerUrl: string;
  readonly appUrl: string;
}

/** What a service is started with. */
export interface ServiceOptions {
  readonly settings: Settings;
  readonly database: DatabaseUrls;
  readonly adminToken: string;
  /** Seal the signing secrets of webhooks; the first one from now on. */
  readonly secretsKeys: readonly SecretsKey[];
  readonly clock: Clock;
  readonly log: Logger;
  /** Evaluations run on so many threads of their own, as in every process that a person starts; absent: on this one. */
  readonly evaluationThreads?: number;
  readonly times?: Partial<HttpTimes>;
  /** A line for a person, when something they wait for takes long. */
  readonly tell?: (line: string) => void;
  /**
   * Given where siblings answer at the same port: it listens only when it is ready, or when this resolves. Without it it
   * listens at once.
   */
  readonly mayListen?: Promise<void>;
  /** The database can never be used as it is. */
  readonly onRefused?: (error: MigrationRefused | SecretsKeyRefused) => void;
}

/**
 * A running process: its HTTP server is up at once unless siblings answer for it, `ready` when it is, the database is
 * migrated and the parts are started.
 */
export interface Service {
  /** Undefined where it does not listen yet. */
  readonly port: number | undefined;
  readonly wiring: Wiring;
  readonly ready: Promise<void>;
  /** Stops accepting, finishes what is in flight, stops workers and pools. Safe to call twice. */
  close(): Promise<void>;
}

/** Requests in flight get this long at a stop, ms. */
const DRAIN_MS = 10_000;

/** Wait between two looks for a database that is away, ms. */
const RETRY_MS = 500;

/** Koa's callback as a plain listener: it answers its own failures, so its promise never rejects. */
function listenerOf(app: ReturnType<typeof createApp>): RequestListener {
  const callback = app.callback();
  return (request, response) => void callback(request, response);
}

/** The parts of a process, as its settings want them; nothing is started. */
export function wireService(options: ServiceOptions): Wiring {
  const { settings } = options;
  return wire({
    ...options.database,
    backend: settings.DATABASE_BACKEND,
    environment: settings.ENVIRONMENT,
    retryLimit: settings.EVALUATION_RETRY_LIMIT,
    retryDelaySeconds: settings.EVALUATION_RETRY_DELAY_SECONDS,
    retentionDays: settings.PAYLOAD_RETENTION_DAYS,
    secretBox: createSecretBox(options.secretsKeys),
    webhooks: {
      allowPrivateNetworks: settings.WEBHOOK_ALLOW_PRIVATE_NETWORKS,
      retrySeconds: settings.WEBHOOK_RETRY_SECONDS,
      retentionDays: settings.WEBHOOK_RETENTION_DAYS,
    },
    clock: options.clock,
    ...(options.evaluationThreads === undefined
      ? {}
      : { evaluationThreads: options.evaluationThreads }),
    log: options.log,
  });
}

/** The login of the admin side: the first administrator by its token, everybody else by the database. */
function loginOf({ adminToken, clock }: ServiceOptions, { api }: Wiring): AdminLogin {
  const operatorOf = createOperatorOf(adminToken, (tokenHash) =>
    findOperator(api.services.orm.em.fork().getKysely(), tokenHash, clock.now()),
  );
  return createAdminLogin(operatorOf, (address) => api.failedLogins.record(address));
}

/** Starts the roles of one process. @throws the socket's error when a port cannot be used */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { settings, log } = options;
  const times = { ...HTTP_TIMES, ...options.times };
  const wiring = wireService(options);
  answerForMetrics(wiring.metrics.registry);
  let started = false;
  const readiness = {
    get started() {
      return started;
    },
    check: async () => started && (await wiring.ping()),
  };
  const adminApp = createAdminApp({
    wiring,
    readiness,
    login: loginOf(options, wiring),
    trustedProxies: settings.TRUSTED_PROXIES,
    onFault(error) {
      wiring.metrics.faults.inc({ place: 'admin' });
      logFault(log, 'admin', error);
    },
  });
  const app = createApp({
    wiring,
    readiness,
    log,
    trustedProxies: settings.TRUSTED_PROXIES,
    bodyIdleMs: times.bodyIdleMs,
    servesApi: settings.ROLE !== 'worker',
    ...(settings.ADMIN_PORT === undefined ? { admin: adminApp } : {}),
  });
  const countParserRefusal = (): void => wiring.metrics.refusals.inc({ reason: 'parser' });
  const listener = shedLoad(listenerOf(app), {
    isFull: () => wiring.api.services.ingest.isFull,
    onShed(operation, status) {
      wiring.metrics.requests.inc({ operation, status });
      wiring.countAnswer(undefined, operation, `${status} INGESTION_UNAVAILABLE`);
    },
    log,
  });
  const server = createHttpServer(times, listener, countParserRefusal);
  const addresses = [{ server, port: settings.PORT, host: settings.HOST }];
  if (settings.ADMIN_PORT !== undefined) {
    const admin = createHttpServer(
      times,
      listenerOf(
        createApp({
          wiring,
          readiness,
          log,
          trustedProxies: settings.TRUSTED_PROXIES,
          bodyIdleMs: times.bodyIdleMs,
          servesApi: false,
          admin: adminApp,
        }),
      ),
      countParserRefusal,
    );
    addresses.push({ server: admin, port: settings.ADMIN_PORT, host: '127.0.0.1' });
  }
  const stopping = new AbortController();
  let listening: Promise<number[]> | undefined;
  const open = (): Promise<number[]> => (listening ??= listenAll(addresses, stopping.signal));
  const { mayListen } = options;
  let port: number | undefined;
  if (mayListen === undefined) {
    try {
      [port] = await open();
    } catch (error: unknown) {
      await wiring.close();
      throw error;
    }
  }
  const ready = (async () => {
    const failed = new Promise<never>((_, reject) => {
      void mayListen?.then(open).catch(reject);
    });
    await Promise.race([startParts(options, wiring, stopping.signal), failed]);
    started = !stopping.signal.aborted;
    await open();
  })();
  ready.catch(() => undefined);
  let closing: Promise<void> | undefined;
  return {
    port,
    wiring,
    ready,
    close() {
      closing ??= (async () => {
        stopping.abort();
        await listening?.catch(() => undefined);
        await Promise.all(addresses.map((each) => drain(each.server, DRAIN_MS)));
        await ready.catch(() => undefined);
        await wiring.close();
      })();
      return closing;
    },
  };
}

/** Listens everywhere or nowhere; returns the ports, none after a stop. @throws the socket's error */
async function listenAll(
  addresses: readonly { readonly server: Server; readonly port: number; readonly host: string }[],
  stop: AbortSignal,
): Promise<number[]> {
  const ports: number[] = [];
  try {
    for (const { server, port, host } of stop.aborted ? [] : addresses) {
      ports.push(await listen(server, port, host));
    }
    return ports;
  } catch (error: unknown) {
    await Promise.all(addresses.map(({ server }) => drain(server, 0)));
    throw error;
  }
}

/** Migrates and starts the parts as soon as the database allows; waits as long as it is away. */
export async function startParts(
  options: ServiceOptions,
  wiring: Wiring,
  stop: { readonly aborted: boolean },
): Promise<void> {
  const { settings, log } = options;
  const parts = { api: settings.ROLE !== 'worker', worker: settings.ROLE !== 'api' };
  for (let told = false; !stop.aborted;) {
    try {
      await migrateDatabase({ ...options.database, backend: settings.DATABASE_BACKEND });
      await checkSecretsKeys(options, wiring);
      await wiring.start(parts);
      return;
    } catch (error: unknown) {
      if (error instanceof MigrationRefused || error instanceof SecretsKeyRefused) {
        options.onRefused?.(error);
        throw error;
      }
      if (failureKind(error) !== 'unavailable') logFault(log, 'start', error);
      if (!told) {
        told = true;
        options.tell?.(
          'The database does not answer yet; every operation answers 503 until it does.',
        );
      }
      await sleep(RETRY_MS);
    }
  }
}
