import { randomInt } from 'node:crypto';
import { AdminApi } from './admin.ts';
import { MerchantApi } from './api.ts';
import { DemoError } from './demo-error.ts';
import { credentialsFor, type IssuedCredential, Keyring } from './keyring.ts';
import { labelSome } from './label.ts';
import { pause } from './pause.ts';
import { type Output, Progress } from './progress.ts';
import { sendAll } from './send.ts';
import { activateSite, issueCredentials, revokeEarlier } from './site.ts';
import { type DemoReport, summaryOf } from './summary.ts';
import { acceptMs, tally } from './tally.ts';
import { createTraffic } from './traffic.ts';
import { waitForAll } from './wait.ts';

/** Where and what the demo sends. */
export interface DemoOptions {
  /** Of the API, without a path. */
  readonly baseUrl: string;
  /** Of the admin side, without a path. */
  readonly adminUrl: string;
  readonly adminToken: string;
  readonly events: number;
  readonly seed: string;
  /** Where the progress goes. */
  readonly progress: Output;
  /** False where other lines share the terminal. */
  readonly bar: boolean;
  /** Where the summary goes. */
  readonly summary: Output;
  readonly colour: boolean;
  /** The end of the day that is sent, ms since 1970 UTC; now unless given. */
  readonly endsAt?: number;
  /** Longest stretch without any new result before the demo stops waiting, ms. */
  readonly patienceMs?: number;
}

/** How long a service that is still starting is waited for, ms. */
const STARTING_MS = 60_000;

/** Looks for results: one per event, and some more for those that are not finished at the first look. */
const LOOKS_PER_EVENT = 1.15;

/** Outcome labels and other calls of a run at most. */
const OTHER_CALLS = 150;

/** Longer than the keyring may have to wait for its next look. */
const PATIENCE_MS = 90_000;

/**
 * Makes the demo Site, sends it a day of traffic, waits for the judgements, labels some and writes a summary.
 * Running it again makes new events under new credentials; nothing of an earlier run is changed but its credentials, which end.
 *
 * @throws DemoError with a sentence for the person who started it
 */
export async function runDemo(options: DemoOptions): Promise<DemoReport> {
  const { progress: output, bar } = options;
  const say = (line: string): void => void output.write(`  ${line}\n`);
  const started = performance.now();
  await waitUntilReady(options.baseUrl, say);
  const admin = new AdminApi(options.adminUrl, options.adminToken);
  await activateSite(admin);
  const revoked = await revokeEarlier(admin);
  const needed = credentialsFor(options.events * (1 + LOOKS_PER_EVENT) + OTHER_CALLS);
  const credentials = await issueCredentials(admin, 'production', needed);
  const [sandbox] = await issueCredentials(admin, 'sandbox', 1);
  say(
    `Site demo is active: ${needed} production credentials and one for the sandbox${revoked > 0 ? `, ${revoked} of earlier demos revoked` : ''}.`,
  );

  const run = newRun();
  const traffic = createTraffic({ endsAt: Date.now(), ...options, run });
  const api = new MerchantApi(options.baseUrl, new Keyring(credentials));
  const [sent, sendingMs] = await stage('Sending', (show) => sendAll(api, traffic, show));
  const patience = options.patienceMs ?? PATIENCE_MS;
  const [evaluation] = await stage('Evaluating', (show) => waitForAll(api, sent, patience, show));
  const labels = await labelSome(api, evaluation.evaluated);

  const report: DemoReport = {
    run,
    seed: options.seed,
    seconds: (performance.now() - started) / 1000,
    credentials: needed,
    sent,
    sendingMs,
    repeats: api.repeats,
    accept: acceptMs(sent),
    evaluation,
    tally: tally(evaluation.evaluated),
    labels,
    usage: await api.usage(),
    baseUrl: options.baseUrl,
    production: credentials[0] as IssuedCredential,
    sandbox: sandbox as IssuedCredential,
  };
  options.summary.write(summaryOf(report, options.colour));
  refuseUnfinished(report);
  return report;

  async function stage<Result>(
    title: string,
    work: (show: (done: number) => void) => Promise<Result>,
  ): Promise<[Result, number]> {
    const began = performance.now();
    const progress = new Progress(output, title, options.events, bar);
    try {
      return [await work((done) => progress.show(done)), performance.now() - began];
    } finally {
      progress.end();
    }
  }
}

/** @throws DemoError where events have no result */
function refuseUnfinished({ evaluation: { dead, unfinished } }: DemoReport): void {
  if (unfinished.length > 0) {
    throw new DemoError(
      `${unfinished.length} events still have no result, and none came lately: is a worker running (npm start with ROLE=all, or a second process with ROLE=worker)?`,
    );
  }
  if (dead.length > 0) {
    throw new DemoError(
      `${dead.length} events could not be evaluated; npm run admin -- dead-letters list --site-code demo shows why.`,
    );
  }
}

/** @throws DemoError when nothing answers, or when it does not become ready */
async function waitUntilReady(baseUrl: string, say: (line: string) => void): Promise<void> {
  const deadline = performance.now() + STARTING_MS;
  for (let told = false; ; told = true) {
    const status = await statusOf(`${baseUrl}/readyz`);
    if (status === 200) return;
    if (status === undefined) {
      throw new DemoError(
        `No service answers at ${baseUrl}: start it with npm start in another terminal, or say where it is with --url.`,
      );
    }
    if (status !== 503) {
      throw new DemoError(
        `What answers at ${baseUrl} is not this service: say where it is with --url.`,
      );
    }
    if (performance.now() > deadline) {
      throw new DemoError(
        `The service at ${baseUrl} does not become ready: look at its terminal, its database may be away.`,
      );
    }
    if (!told) say('The service is starting ...');
    await pause(500);
  }
}

async function statusOf(url: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    await response.body?.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}

/** Six characters that no run before had; no vowels, so that they never spell a word. */
function newRun(): string {
  const letters = 'bcdfghjkmnpqrstvwxz23456789';
  return Array.from({ length: 6 }, () => letters[randomInt(letters.length)]).join('');
}
