import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from './errors.ts';
import { OWNER_ROLE } from './initialize.ts';
import type { Launcher, Running } from './launch.ts';
import { ensureRunning, settingsFor } from './launch.ts';
import type { Home } from './layout.ts';
import type { DirectoryLock } from './lock.ts';
import type { Ownership } from './ownership.ts';
import { localUrl, takeOwnership } from './ownership.ts';
import { stopPostmaster } from './process.ts';
import { APP_ROLE, DATABASE_NAME, ensureRoleAndDatabase } from './roles.ts';
import { readSettings, readSettingsPort } from './settings.ts';

/** What an {@link OwnedServer} is made of. */
export interface OwnedServerParts {
  readonly home: Home;
  readonly lock: DirectoryLock;
  readonly launcher: Launcher;
  /** Ends every wait of the launcher when the service stops. */
  readonly abort: AbortController;
  readonly password: string;
  readonly appPassword: string;
  readonly onRestart: (() => void) | undefined;
}

/** A shutdown writes what is in memory; 256 MB take seconds even on a slow disk. */
const STOP_MS = 60_000;

/** Waits between attempts to bring a dead server back: doubled from `first` to `last`, begun anew once it was `healthy`. */
const RETRY_MS = { first: 100, last: 5_000, healthy: 30_000 };

/** The server of one DATA_DIR in the hands of this process: started or adopted, watched, brought back, stopped. */
export class OwnedServer {
  readonly #parts: OwnedServerParts;
  /** Set only while the server is ours to stop: we started it, or it accepted us as its owner. */
  #server: Running | undefined;
  #ownership: Ownership | undefined;
  #port = 0;
  #watching = false;
  #recovery: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #retryMs = RETRY_MS.first;
  #upSince = 0;

  constructor(parts: OwnedServerParts) {
    this.#parts = parts;
  }

  get ownerUrl(): string {
    return localUrl(OWNER_ROLE, this.#parts.password, this.#port, DATABASE_NAME);
  }

  get appUrl(): string {
    return localUrl(APP_ROLE, this.#parts.appPassword, this.#port, DATABASE_NAME);
  }

  get pid(): number {
    return this.#server?.pid ?? 0;
  }

  /** Starts or adopts the server and makes role and database complete. On failure a server it started is stopped. */
  async start(): Promise<void> {
    const { launcher, appPassword } = this.#parts;
    try {
      let ownership = await this.#bringUp({ port: readSettingsPort(launcher.place.data) });
      if (this.#server?.started === false) ownership = await this.#renew(ownership);
      await ensureRoleAndDatabase(ownership.client, {
        ownerRole: OWNER_ROLE,
        appPassword,
        appUrl: this.appUrl,
      });
    } catch (error: unknown) {
      await this.#ownership?.release();
      if (this.#server?.started === true) await this.#shutDown();
      throw error;
    }
    const how = this.#server?.started === true ? 'is ready' : 'was still running and is adopted';
    launcher.log(`The embedded database ${how} (port ${this.#port}, process ${this.pid}).`);
    this.#watching = true;
    if (this.#ownership === undefined) this.#lose();
  }

  /** Stops the server and gives the DATA_DIR free. Safe to call twice, and while the server is being brought back. */
  async stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    await this.#stopping;
  }

  async #stop(): Promise<void> {
    this.#parts.abort.abort();
    await this.#recovery;
    await this.#ownership?.release();
    await this.#shutDown();
    this.#parts.lock.release();
  }

  async #shutDown(): Promise<void> {
    const { log, place } = this.#parts.launcher;
    if (this.#server === undefined) return;
    if (!(await stopPostmaster(this.#server.pid, place.data, STOP_MS))) {
      log(`The embedded database (process ${this.#server.pid}) is still shutting down.`);
    }
  }

  /** A survivor may run an older version or older settings; nobody else uses it yet, so it is simply restarted. */
  async #renew(ownership: Ownership): Promise<Ownership> {
    const { launcher } = this.#parts;
    const same =
      ownership.serverVersion === launcher.binaries.version &&
      readSettings(launcher.place.data) === settingsFor(launcher, this.#port);
    if (same) return ownership;
    launcher.log('The database still runs with older settings or an older version: restarting it.');
    await ownership.release();
    await this.#shutDown();
    return await this.#bringUp({ port: this.#port });
  }

  async #bringUp(wanted: { port: number | undefined; fixed?: boolean }): Promise<Ownership> {
    const { home, launcher, password, abort } = this.#parts;
    const running = await ensureRunning(launcher, wanted);
    if (running.started) this.#server = running;
    const ownership = await takeOwnership({
      home,
      place: launcher.place,
      port: running.port,
      password,
      signal: abort.signal,
      onLost: () => {
        this.#ownership = undefined;
        if (this.#watching) this.#lose();
      },
    });
    this.#server = running;
    this.#port = running.port;
    this.#ownership = ownership;
    this.#upSince = performance.now();
    return ownership;
  }

  #lose(): void {
    if (this.#stopping !== undefined || this.#recovery !== undefined) return;
    this.#parts.launcher.log('The embedded database has gone away; bringing it back.');
    this.#recovery = this.#recover().finally(() => {
      this.#recovery = undefined;
      // Lost again between the end of the recovery and here.
      if (this.#ownership === undefined) this.#lose();
    });
  }

  /** Tries until it succeeds or the service stops. The port stays, because every pool of the service knows it. */
  async #recover(): Promise<void> {
    const { launcher, abort, onRestart } = this.#parts;
    const wasHealthy = performance.now() - this.#upSince > RETRY_MS.healthy;
    this.#retryMs = wasHealthy ? RETRY_MS.first : this.#retryMs;
    while (!abort.signal.aborted) {
      try {
        await sleep(this.#retryMs, undefined, { signal: abort.signal });
        this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS.last);
        await this.#bringUp({ port: this.#port, fixed: true });
        launcher.log(`The embedded database is back (process ${this.pid}).`);
        onRestart?.();
        return;
      } catch (error: unknown) {
        if (abort.signal.aborted) return;
        launcher.log(`The embedded database is not back yet: ${messageOf(error)}`);
      }
    }
  }
}
