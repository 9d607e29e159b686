import { Worker } from 'node:worker_threads';

/** Calls back at fixed moments, without drift, until it is stopped. */
export interface Ticker {
  stop(): Promise<void>;
}

/**
 * Ticks from a thread that sleeps to a fraction of a millisecond. A timer of the event loop has whole milliseconds and
 * fires late by up to two: measured from the moment a request was due, that would be most of the latency of a fast
 * answer, and make every comparison at a steady rate look better than it is.
 *
 * @param onTick receives the moment the tick was meant for, by `monotonicMs`
 */
export function startTicker(intervalMs: number, onTick: (at: number) => void): Ticker {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const thread = new Worker(new URL('./ticker-thread.ts', import.meta.url), {
    workerData: { intervalMs, stop },
  });
  thread.on('message', onTick);
  return {
    async stop() {
      thread.removeAllListeners('message');
      Atomics.store(stop, 0, 1);
      Atomics.notify(stop, 0);
      await thread.terminate();
    },
  };
}
