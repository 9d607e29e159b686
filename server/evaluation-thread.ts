import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { LaneOptions } from './evaluation-lane.ts';
import {
  hearReport,
  hearStart,
  type ReportHearer,
  type ReportMessage,
  type StartMessage,
} from './evaluation-messages.ts';
import type { Evaluations } from './evaluation.ts';

/** What the thread is started with: plain data only. Holds a password: never log it. */
export interface ThreadData {
  readonly appUrl: string;
  readonly backend: 'postgres' | 'citus';
  readonly retryLimit: number;
  /** Threads that judge, this one included. */
  readonly threads: number;
  /** One number, percent: the share of the time that evaluations may take now. */
  readonly share: SharedArrayBuffer;
}

/** What the process says to the thread. */
export type ToThread = 'start' | 'wake' | 'stop';

/** What the thread says to the process. */
export type FromThread = StartMessage | ReportMessage;

/** What the process adds. */
export interface ThreadOptions extends Omit<LaneOptions, 'clock' | 'report'> {
  /** Threads that judge, at least 1; the events of a Site are judged on one of them. */
  readonly threads: number;
  readonly report: Omit<ReportHearer, 'onFault'>;
  readonly onFault: ReportHearer['onFault'];
}

/**
 * A batch makes more than it keeps: with this much room (twice, in MB) more of it is gone before anybody looks for it. A
 * fifth of the thread's time goes into copying survivors with half of it (docs/decisions/0008-evaluation-worker.md).
 */
const SEMI_SPACE_MB = 32;
export const OLD_GENERATION_MB = 512;
/** Below this the old generation is not collected: two of three collections there were of what a batch had outlived. */
const FIRST_OLD_GENERATION_MB = 256;

/** A thread that dies is replaced after this, ms. */
const RESTART_MS = 1_000;

/** Longest wait for a thread to settle what it has in hand, ms; its claims run out by themselves. */
const STOP_MS = 20_000;

/** How often the share is told to the thread, ms. */
const SHARE_MS = 20;

/**
 * Evaluations on a thread of their own, which may have others beside it (lane-thread.ts): neither do requests wait for a
 * batch to be judged, nor do the two share one core. Crashes of the thread are faults; another one takes its place.
 */
export class EvaluationThread implements Evaluations {
  readonly #options: ThreadOptions;
  readonly #share = new Int32Array(new SharedArrayBuffer(4)).fill(100);
  #worker: Worker | undefined;
  #gone: Promise<unknown> = Promise.resolve();
  #telling: NodeJS.Timeout | undefined;
  #stopping = false;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#worker ??= this.#spawn();
    const worker = this.#worker;
    const started = hearStart(worker);
    this.#say('start');
    await started;
    this.#telling ??= setInterval(() => this.#tellShare(), SHARE_MS).unref();
  }

  wake(): void {
    this.#say('wake');
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#telling);
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#say('stop');
    const late = new AbortController();
    const waited = sleep(STOP_MS, undefined, { signal: late.signal }).catch(() => undefined);
    await Promise.race([this.#gone, waited]);
    late.abort();
    await worker.terminate();
  }

  #say(message: ToThread): void {
    // A message port, not a window: there is no origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    this.#worker?.postMessage(message);
  }

  #tellShare(): void {
    Atomics.store(this.#share, 0, Math.round(this.#options.share() * 100));
  }

  #spawn(): Worker {
    const { appUrl, backend, retryLimit, threads } = this.#options;
    const workerData: ThreadData = {
      appUrl,
      backend,
      retryLimit,
      threads,
      share: this.#share.buffer,
    };
    // Node's own flag holds for every thread and wins over resourceLimits; the process's heap has its size already.
    setFlagsFromString(`--max-semi-space-size=${SEMI_SPACE_MB}`);
    setFlagsFromString(`--initial-old-space-size=${FIRST_OLD_GENERATION_MB}`);
    const worker = new Worker(new URL('./evaluation-thread-main.ts', import.meta.url), {
      workerData,
      name: 'evaluation',
      resourceLimits: { maxOldGenerationSizeMb: OLD_GENERATION_MB },
    });
    worker.on('message', (message: FromThread) => this.#hear(message));
    worker.on('error', () =>
      this.#options.onFault({ errorClass: 'EvaluationThreadDied', errorPlace: 'unknown' }),
    );
    this.#gone = new Promise((resolve) => worker.once('exit', resolve));
    void this.#gone.then(() => this.#replace(worker));
    return worker;
  }

  /** Another thread for one that died while it was needed. */
  #replace(worker: Worker): void {
    if (this.#stopping || this.#worker !== worker) return;
    this.#worker = undefined;
    if (this.#telling === undefined) return;
    const again = (): void => {
      if (this.#stopping) return;
      this.start().catch(() => setTimeout(again, RESTART_MS).unref());
    };
    setTimeout(again, RESTART_MS).unref();
  }

  #hear(message: FromThread): void {
    if (message.kind === 'started' || message.kind === 'not started') return;
    const { onFault, report } = this.#options;
    hearReport(message, { ...report, onFault });
  }
}
