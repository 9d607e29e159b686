import { Worker } from 'node:worker_threads';
import type { BoostSettings } from '../../risk/model/boost.ts';
import type { LearningMetrics } from '../../risk/model/learn.ts';

/** What a training thread is told. Times in ms since 1970 UTC. */
export interface TrainingOrder {
  readonly appUrl: string;
  readonly siteId: string;
  readonly period: { readonly from: number; readonly to: number };
  readonly settings: BoostSettings;
  readonly mostRows: number;
}

/** What it says. */
export type TrainingAnswer =
  | { readonly kind: 'progress'; readonly share: number }
  | { readonly kind: 'learned'; readonly text: string; readonly metrics: LearningMetrics }
  | { readonly kind: 'too few'; readonly reason: string };

/** Trees and rows lie outside the heap; what is left are the candidates' ids and times. */
const HEAP_MB = 1_024;

/**
 * Learns in a thread of its own, which reads the ledger by itself: this one only hears how far it is.
 *
 * @throws what the thread threw, or an AbortError when `signal` ended it
 */
export function runTraining(
  order: TrainingOrder,
  onProgress: (share: number) => void,
  signal?: AbortSignal,
): Promise<Exclude<TrainingAnswer, { kind: 'progress' }>> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./thread.ts', import.meta.url), {
      workerData: order,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    const stop = (): void => void thread.terminate();
    signal?.addEventListener('abort', stop, { once: true });
    let last: Exclude<TrainingAnswer, { kind: 'progress' }> | undefined;
    thread.on('message', (answer: TrainingAnswer) => {
      if (answer.kind === 'progress') onProgress(answer.share);
      else last = answer;
    });
    thread.on('error', reject);
    thread.on('exit', (code) => {
      signal?.removeEventListener('abort', stop);
      if (last !== undefined) resolve(last);
      else if (signal?.aborted === true) reject(new DOMException('stopped', 'AbortError'));
      else reject(new Error(`the training thread ended with ${code}`));
    });
  });
}
