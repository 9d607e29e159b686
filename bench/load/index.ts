import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { LoadMessage, LoadOrder, LoadResult } from './protocol.ts';

/**
 * Runs a load in a process of its own and waits for its end.
 *
 * @param onMeasuring called when the measured phase begins
 * @throws Error when the load cannot run
 */
export async function runLoad(order: LoadOrder, onMeasuring?: () => void): Promise<LoadResult> {
  const child = fork(join(import.meta.dirname, 'main.ts'), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // JSON would turn NaN (no such answer) into null.
    serialization: 'advanced',
  });
  try {
    return await new Promise<LoadResult>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`The load process ended early (${code}).`)));
      child.once('error', reject);
      child.on('message', (message: LoadMessage) => {
        if (message.event === 'ready') child.send(order);
        else if (message.event === 'measuring') onMeasuring?.();
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
