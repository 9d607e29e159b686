import { Worker } from 'node:worker_threads';

/** Calls back at fixed moments, without drift, until it is stopped. */
export interface Ticker {
  stop(): Promise<void>;
}

/**
 * Ticks from a thread that sleeps to a fraction of a millisecond. Timers of the event loop have whole milliseconds; on
 * the median they sent half a millisecond later, the same for every way: ratios of latencies near a millisecond came out
 * closer to 1 than they are.
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
