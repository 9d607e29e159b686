import { parentPort, workerData } from 'node:worker_threads';
import { attemptErrorOf } from '../jobs/attempt-error.ts';
import { systemClock } from '../ledger/clock.ts';
import { failureKind } from '../ledger/failures.ts';
import { createEvaluations } from './evaluation.ts';
import type { FromThread, ThreadData, ToThread } from './evaluation-thread.ts';

const { share: shared, ...data } = workerData as ThreadData;
const share = new Int32Array(shared);

function say(message: FromThread, moved: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, moved);
}

const evaluations = createEvaluations({
  ...data,
  clock: systemClock,
  share: () => Atomics.load(share, 0) / 100,
  report: {
    judged(rows, now) {
      const siteIds = BigInt64Array.from(rows, ({ siteId }) => siteId);
      const receivedAt = Float64Array.from(rows, (row) => row.receivedAt);
      say({ kind: 'judged', siteIds, receivedAt, now }, [siteIds.buffer, receivedAt.buffer]);
    },
    failed: (dead) => say({ kind: 'failed', dead }),
    // Its text may quote rows: only class and place leave the thread.
    fault: (error) => say({ kind: 'fault', error: attemptErrorOf(error) }),
  },
});

const answers: Record<ToThread, () => void> = {
  start: () =>
    void evaluations.start().then(
      () => say({ kind: 'started' }),
      (error: unknown) =>
        say({
          kind: 'not started',
          away: failureKind(error) === 'unavailable',
          error: attemptErrorOf(error),
        }),
    ),
  wake: () => evaluations.wake(),
  stop: () => void evaluations.stop().finally(() => parentPort?.close()),
};
parentPort?.on('message', (message: ToThread) => answers[message]());
