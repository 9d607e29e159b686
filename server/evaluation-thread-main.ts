import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../ledger/clock.ts';
import { sayToMaker, tellReport, tellStart, type Say } from './evaluation-messages.ts';
import type { FromThread, ThreadData, ToThread } from './evaluation-thread.ts';
import { createEvaluations } from './evaluation.ts';
import { LaneThread } from './lane-thread.ts';

const data = workerData as ThreadData;
const share = new Int32Array(data.share);

const say: Say<FromThread> = sayToMaker;

/** Ends this thread, and the process replaces it with all its lanes: the claims of a lost lane run out by themselves. */
function loseAll(): never {
  throw new Error('a lane of the evaluation has ended');
}

const others = Array.from({ length: data.threads - 1 }, () => new LaneThread(data, say, loseAll));
const evaluations = createEvaluations(
  {
    appUrl: data.appUrl,
    backend: data.backend,
    retryLimit: data.retryLimit,
    clock: systemClock,
    share: () => Atomics.load(share, 0) / 100,
    report: tellReport(say),
  },
  others,
);

const answers: Record<ToThread, () => void> = {
  start: () => tellStart(() => evaluations.start(), say),
  wake: () => evaluations.wake(),
  stop: () => void evaluations.stop().finally(() => parentPort?.close()),
};
parentPort?.on('message', (message: ToThread) => answers[message]());
