import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeTemporaryDirectory } from './temporary.ts';

/** One tab of a headless Chromium, driven through its DevTools protocol. */
export interface Tab {
  /** Opens an address and waits until everything of it is loaded. */
  open(url: string): Promise<void>;
  resize(width: number, height: number): Promise<void>;
  /** Presses and releases Tab, Enter or an arrow. */
  press(key: keyof typeof KEYS): Promise<void>;
  /** The value of a JavaScript expression in the page; it must survive JSON. */
  read<T>(expression: string): Promise<T>;
  /** What the console and the browser's log said since the start, refusals of the content security policy among it. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

const KEYS = { Tab: 9, Enter: 13, ArrowRight: 39 };

/** Nothing that would call home, and no profile of a person. */
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-extensions',
  '--disable-breakpad',
  '--no-first-run',
  '--no-default-browser-check',
  '--remote-debugging-port=0',
];

/** Where Chromium is installed: CHROMIUM_PATH, else Debian's place; undefined where there is none. */
export function findChromium(): string | undefined {
  const path = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
  return existsSync(path) ? path : undefined;
}

/** Starts a Chromium with a profile of its own and opens a tab; closing the tab ends both. */
export async function startChromium(executable: string): Promise<Tab> {
  const directory = makeTemporaryDirectory();
  const child = spawn(
    executable,
    [...ARGUMENTS, `--user-data-dir=${join(directory, 'profile')}`, 'about:blank'],
    {
      env: { PATH: process.env['PATH'], HOME: directory, TMPDIR: directory },
      stdio: ['ignore', 'ignore', 'pipe'],
      // A process group of its own, so that what it started ends with it.
      detached: true,
    },
  );
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const end = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await exited;
    rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  };
  try {
    return await openTab(await addressOf(child), end);
  } catch (error: unknown) {
    await end();
    throw error;
  }
}

/** The address of the DevTools, which Chromium prints at its start. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let told = '';
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`Chromium ended at its start: ${told}`)));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      told = (told + text).slice(-10_000);
      const address = /DevTools listening on (ws:\S+)/.exec(told)?.[1];
      if (address !== undefined) resolve(address);
    });
  });
}

/** What the DevTools send: the answer to a call, or an event. */
interface Message {
  readonly id?: number;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
  readonly method?: string;
  readonly params?: Record<string, unknown>;
}

async function openTab(address: string, end: () => Promise<void>): Promise<Tab> {
  const socket = new WebSocket(address);
  const calls = new Map<number, (message: Message) => void>();
  const complaints: string[] = [];
  let loaded = (): void => undefined;
  let session: unknown;
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.id !== undefined) calls.get(message.id)?.(message);
    else if (message.method === 'Page.loadEventFired') loaded();
    else if (
      /^(Log\.entryAdded|Runtime\.(consoleAPICalled|exceptionThrown))$/.test(message.method ?? '')
    )
      complaints.push(JSON.stringify(message.params));
  });
  const call = async (method: string, params = {}): Promise<Record<string, unknown>> => {
    const id = calls.size + 1;
    const answer = new Promise<Message>((resolve) => calls.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params, sessionId: session }));
    const { error, result = {} } = await answer;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  };

  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('The DevTools did not answer.')));
  });
  const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
  session = (await call('Target.attachToTarget', { targetId, flatten: true }))['sessionId'];
  for (const domain of ['Page', 'Runtime', 'Log']) await call(`${domain}.enable`);
  await call('Emulation.setFocusEmulationEnabled', { enabled: true });

  return {
    complaints,
    async open(url) {
      const done = new Promise<void>((resolve) => (loaded = resolve));
      const { errorText } = await call('Page.navigate', { url });
      if (errorText !== undefined) throw new Error(`${url}: ${JSON.stringify(errorText)}`);
      await done;
    },
    async resize(width, height) {
      const mobile = width < 600;
      const size = { width, height, deviceScaleFactor: 1, mobile };
      await call('Emulation.setDeviceMetricsOverride', size);
    },
    async press(key) {
      const named = { key, code: key, windowsVirtualKeyCode: KEYS[key] };
      const text = key === 'Enter' ? { text: '\r' } : {};
      await call('Input.dispatchKeyEvent', { type: 'keyDown', ...named, ...text });
      await call('Input.dispatchKeyEvent', { type: 'keyUp', ...named });
    },
    async read<T>(expression: string) {
      const answer = await call('Runtime.evaluate', { expression, returnByValue: true });
      if (answer['exceptionDetails'] !== undefined) {
        throw new Error(`${expression}: ${JSON.stringify(answer['exceptionDetails'])}`);
      }
      return (answer['result'] as { value: T }).value;
    },
    async close() {
      socket.close();
      await end();
    },
  };
}
