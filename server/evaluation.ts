import { EvaluationWorker } from '../jobs/evaluation-worker.ts';
import { createLane, type LaneOptions, type RunningLane } from './evaluation-lane.ts';

/** Evaluations, wherever they run. */
export interface Evaluations {
  /** Resolves when jobs are claimed; rejects while the database is away. */
  start(): Promise<void>;
  /** There is something to evaluate: look now instead of at the next poll. */
  wake(): void;
  /** Settles the batches in hand and ends; safe before `start` and twice. */
  stop(): Promise<void>;
}

/** Share of the time that evaluations keep while requests queue up: they fall behind, and catch up afterwards. */
const YIELDING_SHARE = 0.25;

/** How many submissions must wait for a group commit before evaluations yield: more than fit into the next group. */
const YIELD_AT_ROWS = 256;

/** The share of the time for evaluations while so many submissions wait. */
export function shareBeside(queuedRows: number): number {
  return queuedRows > YIELD_AT_ROWS ? YIELDING_SHARE : 1;
}

/** Evaluations on this very thread, on connections of their own, and in the lanes of other threads beside it. */
export function createEvaluations(
  options: LaneOptions,
  others: readonly RunningLane[] = [],
): Evaluations {
  const own = createLane(options);
  const lanes: readonly RunningLane[] = [own, ...others];
  const worker = new EvaluationWorker({ boss: own.boss, lanes, report: options.report });
  let stopping: Promise<void> | undefined;
  return {
    async start() {
      await Promise.all(lanes.map((lane) => lane.start()));
      worker.start();
    },
    wake: () => worker.wake(),
    stop() {
      stopping ??= (async () => {
        for (const lane of lanes) lane.hurry();
        await worker.stop();
        await Promise.all(lanes.map((lane) => lane.stop()));
      })();
      return stopping;
    },
  };
}
