import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** The administrator of every service the bench starts. Guards nothing but a temporary database. */
export const ADMIN_TOKEN = 'bench-administrator-token-0123456789abcdef';

/** Longest wait for a server to answer, ms. */
const START_MS = 30_000;

/** Servers that run now: none may outlive the bench, however that ends. */
const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** A server under test in a process of its own. */
export interface ServerProcess {
  readonly port: number;
  readonly pid: number;
  /** Asks it to stop and waits. */
  stop(): Promise<void>;
}

/** How the service is started. */
export interface ServiceStart {
  readonly ownerUrl: string;
  readonly appUrl: string;
  readonly role: 'api' | 'worker' | 'all';
  readonly logLevel?: 'warn' | 'info';
  /** Options of Node itself, such as --cpu-prof. */
  readonly nodeOptions?: readonly string[];
}

/** Node's options of `npm start`: what is measured must be what is run. */
const START_OPTIONS = (
  JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
    scripts: { start: string };
  }
).scripts.start
  .split(' ')
  .filter((word) => word.startsWith('--'));

/** Starts the service as an operator would, and waits until it is ready. @throws Error with what it said */
export async function startService(start: ServiceStart): Promise<ServerProcess> {
  return startServer(
    [
      ...START_OPTIONS,
      ...(start.nodeOptions ?? []),
      join(import.meta.dirname, '../server/main.ts'),
    ],
    '/readyz',
    {
      DATABASE_URL: start.appUrl,
      MIGRATION_DATABASE_URL: start.ownerUrl,
      ADMIN_TOKEN,
      SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
      ROLE: start.role,
      LOG_LEVEL: start.logLevel ?? 'warn',
    },
  );
}

/** Starts a server on a free port and waits until `path` answers 200. */
export async function startServer(
  argv: readonly string[],
  path: string,
  environment: Readonly<Record<string, string>>,
): Promise<ServerProcess> {
  const port = await freePort();
  const { PATH = '', HOME = '', TMPDIR = '' } = process.env;
  const child = spawn(process.execPath, [...argv], {
    env: { PATH, HOME, TMPDIR, ...environment, PORT: String(port), HOST: '127.0.0.1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  alive.add(child);
  child.once('exit', () => alive.delete(child));
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = `${said}${chunk.toString()}`.slice(-2_000);
  });
  try {
    await answers(child, `http://127.0.0.1:${port}${path}`);
  } catch {
    await stop(child);
    throw new Error(`A server under test did not start. It said:\n${said}`);
  }
  return { port, pid: child.pid ?? 0, stop: () => stop(child) };
}

async function answers(child: ChildProcess, url: string): Promise<void> {
  const deadline = performance.now() + START_MS;
  for (;;) {
    const status = await fetch(url).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    if (status === 200) return;
    if (child.exitCode !== null || performance.now() > deadline) throw new Error('not started');
    await sleep(50);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await gone;
  clearTimeout(late);
}

async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
