import cluster, { type Worker } from 'node:cluster';
import { systemClock } from '../ledger/clock.ts';
import type { SecretsKey } from '../ledger/secret-box.ts';
import { chooseAdminToken } from './admin-token.ts';
import { greet } from './banner.ts';
import { evaluationThreadsOf, type Settings } from './config.ts';
import { openDatabase, type Database } from './database.ts';
import { createLog } from './log.ts';
import { MetricsOfAll } from './metrics-of-all.ts';
import { runProcess, tell } from './process.ts';
import { chooseSecretsKeys, wordSecretsKeys } from './secrets-key.ts';
import { startParts, wireService } from './service.ts';
import { onStopSignal } from './stop-signal.ts';

/** A child that dies this soon after its start probably cannot run at all: wait before the next try, ms. */
const RESTART_DELAY_MS = 1_000;

/** What the first process tells a child that is not ready: nobody else answers, so listen now. */
const LISTEN = 'listen';

/** In a child: resolves when the first process says {@link LISTEN}. */
function untilToldToListen(): Promise<void> {
  return new Promise((resolve) => {
    process.on('message', (message: unknown) => {
      if (message === LISTEN) resolve();
    });
  });
}

/**
 * Runs several API processes that share the port. This first process owns the database and, with ROLE=all, the
 * workers; a child that dies is replaced.
 */
export async function runPrimary(settings: Settings, demo: boolean): Promise<void> {
  if (cluster.isWorker) {
    await runProcess({ ...settings, PROCESSES: 1 }, false, untilToldToListen());
    return;
  }
  if (demo)
    throw new TypeError('--demo runs with PROCESSES=1; run npm run demo in a second terminal');
  const started = performance.now();
  const log = createLog(settings.LOG_LEVEL);
  const signals = onStopSignal(tell);
  const database = await openDatabase(settings, tell);
  const { token, file } = chooseAdminToken(settings);
  const secretsKeys = chooseSecretsKeys(settings);
  let databaseIsAway: () => void = () => undefined;
  const waiting = new Promise<void>((resolve) => {
    databaseIsAway = resolve;
  });
  const service = {
    settings: { ...settings, ROLE: settings.ROLE === 'all' ? ('worker' as const) : settings.ROLE },
    database,
    adminToken: token,
    secretsKeys,
    clock: systemClock,
    evaluationThreads: evaluationThreadsOf(settings),
    log,
    tell(line: string) {
      tell(line);
      databaseIsAway();
    },
  };
  const wiring = wireService(service);
  const metricsOfAll = new MetricsOfAll(wiring.metrics.registry);
  metricsOfAll.start();
  const children = new Children(settings, database, { token, secretsKeys });
  try {
    const parts = startParts(service, wiring, signals);
    // While the database is away the children are there to say so.
    await Promise.race([parts, waiting, signals.stopped]);
    if (!signals.aborted) {
      await Promise.race([Promise.all([children.start(), parts]), signals.stopped]);
    }
    if (!signals.aborted) {
      greet(tell, {
        settings,
        port: settings.PORT,
        embedded: database.embedded,
        tokenFile: file,
        seconds: (performance.now() - started) / 1000,
      });
    }
    await signals.stopped;
  } finally {
    await children.stop();
    metricsOfAll.stop();
    await wiring.close();
    await database.stop();
    signals.done();
    log.flush();
  }
}

/** The API processes: as many as wanted, replaced when they die. */
class Children {
  readonly #settings: Settings;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #listening = new Set<Worker>();
  #stopping = false;

  constructor(
    settings: Settings,
    database: Database,
    secrets: { readonly token: string; readonly secretsKeys: readonly SecretsKey[] },
  ) {
    this.#settings = settings;
    this.#environment = {
      ...process.env,
      ROLE: 'api',
      DATABASE_URL: database.appUrl,
      MIGRATION_DATABASE_URL: database.ownerUrl,
      ADMIN_TOKEN: secrets.token,
      SECRETS_KEY: wordSecretsKeys(secrets.secretsKeys),
    };
  }

  /** Resolves when every child listens. */
  async start(): Promise<void> {
    const listening = Array.from({ length: this.#settings.PROCESSES }, () => this.#fork());
    await Promise.all(listening);
  }

  #fork(): Promise<void> {
    const child: Worker = cluster.fork(this.#environment);
    child.once('exit', () => {
      this.#listening.delete(child);
      if (this.#stopping) return;
      this.#letOneListen();
      tell('An API process died; another one takes its place.');
      setTimeout(() => {
        if (!this.#stopping) void this.#fork().then(() => tell('The new API process listens.'));
      }, RESTART_DELAY_MS).unref();
    });
    this.#letOneListen();
    return new Promise((resolve) => {
      child.once('listening', () => {
        this.#listening.add(child);
        resolve();
      });
    });
  }

  /**
   * A child listens when it is ready. Where none does (at the start, or while the database is away), one must listen
   * before, to answer 503 instead of nothing.
   */
  #letOneListen(): void {
    if (this.#listening.size > 0) return;
    const [first] = Object.values(cluster.workers ?? {}).filter((child) => child?.isConnected());
    first?.send(LISTEN, () => undefined);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const alive = Object.values(cluster.workers ?? {}).filter((child) => child !== undefined);
    await Promise.all(
      alive.map((child) => {
        const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
        child.process.kill('SIGTERM');
        return gone;
      }),
    );
  }
}
