import { parentPort, workerData } from 'node:worker_threads';
import { monotonicMs } from './monotonic.ts';

const { intervalMs, stop } = workerData as { intervalMs: number; stop: Int32Array };
let next = monotonicMs() + intervalMs;
for (;;) {
  const wait = next - monotonicMs();
  if (wait > 0 && Atomics.wait(stop, 0, 0, wait) !== 'timed-out') break;
  if (Atomics.load(stop, 0) === 1) break;
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port between threads has no origin
  parentPort?.postMessage(next);
  // After a stall of the machine one tick is enough: it names everything that is due by then.
  do next += intervalMs;
  while (next < monotonicMs());
}
