import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Claim } from '../jobs/evaluation-lane.ts';
import type { RunningLane } from './evaluation-lane.ts';
import {
  hearStart,
  type ReportMessage,
  type Say,
  type StartMessage,
} from './evaluation-messages.ts';
import { OLD_GENERATION_MB, type ThreadData } from './evaluation-thread.ts';

/** What is said to a lane's thread. */
export type ToLane =
  | { readonly kind: 'start' }
  | { readonly kind: 'hurry' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'settle'; readonly batch: number; readonly claims: readonly Claim[] };

/** What a lane's thread says. */
export type FromLane =
  | StartMessage
  | ReportMessage
  | { readonly kind: 'settled'; readonly batch: number; readonly well: boolean };

/** A lane on a thread of its own, made by the thread that deals the events. */
export class LaneThread implements RunningLane {
  readonly #data: ThreadData;
  readonly #report: Say<ReportMessage>;
  readonly #onLost: () => void;
  readonly #settling = new Map<number, (well: boolean) => void>();
  #worker: Worker | undefined;
  #batches = 0;
  #stopping = false;

  /** @param onLost  the thread has ended without being asked to; what it had is not settled */
  constructor(data: ThreadData, report: Say<ReportMessage>, onLost: () => void) {
    this.#data = data;
    this.#report = report;
    this.#onLost = onLost;
  }

  async start(): Promise<void> {
    this.#worker ??= this.#spawn();
    const started = hearStart(this.#worker);
    this.#say({ kind: 'start' });
    await started;
  }

  settle(claims: readonly Claim[]): Promise<boolean> {
    this.#batches += 1;
    const batch = this.#batches;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#settling.set(batch, resolve);
    this.#say({ kind: 'settle', batch, claims });
    return promise;
  }

  hurry(): void {
    this.#say({ kind: 'hurry' });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    const gone = once(worker, 'exit');
    this.#say({ kind: 'stop' });
    await gone;
    this.#worker = undefined;
  }

  #say(message: ToLane): void {
    // A message port, not a window: there is no origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    this.#worker?.postMessage(message);
  }

  #spawn(): Worker {
    const worker = new Worker(new URL('./lane-thread-main.ts', import.meta.url), {
      workerData: this.#data,
      name: 'evaluation lane',
      resourceLimits: { maxOldGenerationSizeMb: OLD_GENERATION_MB },
    });
    worker.on('message', (message: FromLane) => this.#hear(message));
    // Its end follows.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      if (!this.#stopping) this.#onLost();
    });
    return worker;
  }

  #hear(message: FromLane): void {
    if (message.kind === 'started' || message.kind === 'not started') return;
    if (message.kind === 'settled') {
      this.#settling.get(message.batch)?.(message.well);
      this.#settling.delete(message.batch);
    } else this.#report(message);
  }
}
