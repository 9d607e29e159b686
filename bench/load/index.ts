import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { LoadMessage, LoadOrder, LoadResult, ParentMessage } from './protocol.ts';

/** What the caller does at the edges of a load. */
export interface LoadEdges {
  /** The measured phase begins. */
  readonly onMeasuring?: () => void;
  /** The measured phase has ended, before its stragglers and the process itself have. */
  readonly onMeasured?: () => void;
  /** Ends the measured phase before its time; a rejection ends the load with its reason. */
  readonly enough?: Promise<unknown>;
}

/**
 * Runs a load in a process of its own and waits for its end.
 *
 * @throws Error when the load cannot run
 */
export async function runLoad(order: LoadOrder, edges: LoadEdges = {}): Promise<LoadResult> {
  const child = fork(join(import.meta.dirname, 'main.ts'), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // JSON would turn NaN (no such answer) into null.
    serialization: 'advanced',
  });
  const say = (message: ParentMessage): void => void (child.connected && child.send(message));
  try {
    return await new Promise<LoadResult>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`The load process ended early (${code}).`)));
      child.once('error', reject);
      child.on('message', (message: LoadMessage) => {
        if (message.event === 'ready') say({ order });
        else if (message.event === 'measuring') {
          edges.onMeasuring?.();
          edges.enough?.then(() => say({ enough: true }), reject);
        } else if (message.event === 'measured') edges.onMeasured?.();
        else if (message.event === 'result') resolve(message.result);
        else reject(new Error(`The load failed: ${message.message}`));
      });
    });
  } finally {
    const gone = new Promise<void>((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) resolve();
      else child.once('exit', () => resolve());
    });
    const late = setTimeout(() => child.kill('SIGKILL'), 3_000);
    await gone;
    clearTimeout(late);
  }
}
