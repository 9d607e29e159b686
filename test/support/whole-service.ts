import { spawn, type ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ADMIN_TOKEN, SECRETS_KEY } from './running-service.ts';

/** A service as a person starts it: `node server/main.ts` in a process of its own. */
export interface WholeService {
  readonly url: string;
  readonly process: ChildProcess;
  /** What it printed for people so far (standard error). */
  readonly told: () => string;
  readonly logged: () => string;
  /** Resolves with the exit code, or null after a kill. */
  readonly exited: Promise<number | null>;
  /** Kills it without warning and waits until it is gone. */
  kill(): Promise<void>;
  /** Asks it to stop and waits; kills it after 30 s. */
  stop(signal?: 'SIGTERM' | 'SIGINT'): Promise<number | null>;
}

const MAIN = join(import.meta.dirname, '../../server/main.ts');

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Starts a service without waiting for anything. */
export async function spawnService(
  environment: Record<string, string>,
  options: { readonly args?: readonly string[]; readonly port?: number } = {},
): Promise<WholeService> {
  const port = options.port ?? (await freePort());
  const child = spawn(process.execPath, [MAIN, ...(options.args ?? [])], {
    env: {
      PATH: process.env['PATH'],
      PORT: String(port),
      ADMIN_TOKEN,
      SECRETS_KEY,
      LOG_LEVEL: 'warn',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let told = '';
  let logged = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (told += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => (logged += text));
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  return {
    url: `http://127.0.0.1:${port}`,
    process: child,
    told: () => told,
    logged: () => logged,
    exited,
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
      const code = await exited;
      clearTimeout(timer);
      return code;
    },
  };
}

/** Waits until a service is ready. @throws Error when it exits or takes longer than `milliseconds` */
export async function untilReady(service: WholeService, milliseconds = 30_000): Promise<void> {
  const deadline = performance.now() + milliseconds;
  let gone = false;
  void service.exited.then(() => (gone = true));
  for (;;) {
    const response = await fetch(`${service.url}/readyz`).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.status === 200) return;
    if (gone || performance.now() > deadline) {
      throw new Error(`the service is not ready: ${service.told()}`);
    }
    await sleep(50);
  }
}
