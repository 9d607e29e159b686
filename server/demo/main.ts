import { parseArgs } from 'node:util';
import { connectionOf } from '../admin-cli/client.ts';
import { UsageError } from '../admin-cli/usage-error.ts';
import { DemoError } from './demo-error.ts';
import { runDemo } from './run.ts';
import { EVENT_RANGE } from './traffic.ts';

const EVENTS = 2_000;
const SEED = '7';

const HELP = `A day of payments for a running Transaction Risk service

  npm run demo                      into the service of this folder (npm start)
  npm run demo -- --events 5000     a busier day

It makes a Site "demo", sends it invented payments with some frauds among them through the public API, waits until all
are judged, and says what was found. Running it again adds another day; nothing else is touched.

  --url URL          the API                        (default: http://127.0.0.1:$PORT, PORT 8080)
  --admin-url URL    its administrative side        (default: ADMIN_URL, else $ADMIN_PORT, else --url)
  --events N         how many, ${EVENT_RANGE.least} to ${EVENT_RANGE.most}        (default: ${EVENTS})
  --seed TEXT        another seed, another day      (default: ${SEED})
  --help             this text

The administrator token is ADMIN_TOKEN, or the one that the service keeps in DATA_DIR (default ./.data).
`;

/**
 * The demo inside a service that has just started (npm start -- --demo): a client like any other. Never rejects: what
 * goes wrong is said on standard error, since the service goes on. Access logs share the terminal, so no bar is drawn.
 *
 * @returns whether all went well
 */
export async function sendDemoTraffic(service: {
  readonly baseUrl: string;
  readonly adminUrl: string;
  readonly adminToken: string;
}): Promise<boolean> {
  return attempt(() =>
    runDemo({
      ...service,
      events: EVENTS,
      seed: SEED,
      progress: process.stderr,
      bar: false,
      summary: process.stderr,
      colour: process.stderr.isTTY && process.stderr.hasColors(),
    }),
  );
}

async function main(): Promise<boolean> {
  return attempt(async () => {
    const { values } = parseArgs({
      options: {
        url: { type: 'string' },
        'admin-url': { type: 'string' },
        events: { type: 'string' },
        seed: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help === true) {
      process.stdout.write(HELP);
      return;
    }
    const events = numberOfEvents(values.events);
    const baseUrl = urlOf('--url', values.url) ?? defaultUrl(process.env);
    const admin = connectionOf(adminEnvironment(process.env, baseUrl, values['admin-url']));
    await runDemo({
      baseUrl,
      adminUrl: admin.url,
      adminToken: admin.token,
      events,
      seed: values.seed ?? SEED,
      progress: process.stderr,
      bar: true,
      summary: process.stdout,
      colour: process.stdout.isTTY && process.stdout.hasColors(),
    });
  });
}

/** Runs it; a sentence for what a person can mend. @returns whether it succeeded */
async function attempt(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error: unknown) {
    const usage = error instanceof TypeError && 'code' in error;
    const known = usage || error instanceof DemoError || error instanceof UsageError;
    const sentence = known ? error.message : `The demo failed: ${String(error)}`;
    process.stderr.write(`\n  ${sentence}\n`);
    return false;
  }
}

/** @throws DemoError unless it is a number in range */
function numberOfEvents(text: string | undefined): number {
  const events = text === undefined ? EVENTS : /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (events >= EVENT_RANGE.least && events <= EVENT_RANGE.most) return events;
  throw new DemoError(
    `--events must be a whole number from ${EVENT_RANGE.least} to ${EVENT_RANGE.most}.`,
  );
}

/** @throws DemoError unless it is an address */
function urlOf(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '');
  throw new DemoError(`${name} must be a URL such as http://127.0.0.1:8080.`);
}

function defaultUrl({ HOST, PORT }: NodeJS.ProcessEnv): string {
  const host = HOST === undefined || ['', '0.0.0.0', '::'].includes(HOST) ? '127.0.0.1' : HOST;
  return `http://${host.includes(':') ? `[${host}]` : host}:${PORT === undefined || PORT === '' ? 8080 : PORT}`;
}

/** What says where the admin side is: a flag before the environment, and without either the API's own address. */
function adminEnvironment(
  environment: NodeJS.ProcessEnv,
  baseUrl: string,
  flag: string | undefined,
): NodeJS.ProcessEnv {
  const { ADMIN_URL, ADMIN_PORT } = environment;
  const url = urlOf('--admin-url', flag) ?? ADMIN_URL;
  if (url !== undefined && url !== '') return { ...environment, ADMIN_URL: url };
  return ADMIN_PORT === undefined || ADMIN_PORT === ''
    ? { ...environment, ADMIN_URL: baseUrl }
    : environment;
}

if (import.meta.main) {
  // The demo's own waits keep no process alive.
  const alive = setInterval(() => undefined, 60_000);
  process.exitCode = (await main()) ? 0 : 1;
  clearInterval(alive);
}
