import { setTimeout as sleep } from 'node:timers/promises';
import { failureKind } from '../ledger/failures.ts';

/** What is done again and again. */
export interface LoopOptions {
  readonly everyMs: number;
  readonly work: (signal: AbortSignal) => Promise<unknown>;
  /** Gets what nobody foresaw; a database that is away is simply tried again. */
  readonly onFault: (error: unknown) => void;
}

/** Work at an interval, one run at a time, the first after one interval; `stop` waits for the run under way. */
export class Loop {
  readonly #options: LoopOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      await sleep(this.#options.everyMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.#options.work(signal);
      } catch (error: unknown) {
        if (failureKind(error) === 'unforeseen') this.#options.onFault(error);
      }
    }
  }
}
