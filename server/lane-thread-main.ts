import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../ledger/clock.ts';
import { createLane } from './evaluation-lane.ts';
import { sayToMaker, tellReport, tellStart, type Say } from './evaluation-messages.ts';
import type { ThreadData } from './evaluation-thread.ts';
import type { FromLane, ToLane } from './lane-thread.ts';

const data = workerData as ThreadData;
const share = new Int32Array(data.share);

const say: Say<FromLane> = sayToMaker;

const lane = createLane({
  appUrl: data.appUrl,
  backend: data.backend,
  retryLimit: data.retryLimit,
  clock: systemClock,
  share: () => Atomics.load(share, 0) / 100,
  report: tellReport(say),
});

parentPort?.on('message', (message: ToLane) => {
  if (message.kind === 'start') tellStart(() => lane.start(), say);
  else if (message.kind === 'hurry') lane.hurry();
  else if (message.kind === 'stop') void lane.stop().finally(() => parentPort?.close());
  else {
    const { batch, claims } = message;
    void lane.settle(claims).then((well) => say({ kind: 'settled', batch, well }));
  }
});
