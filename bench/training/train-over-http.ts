import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonValue } from '../../ledger/operator-events.ts';
import { patiently } from '../patiently.ts';
import { ADMIN_TOKEN } from '../service-process.ts';

/** Between two looks at the task, ms. */
const LOOK_MS = 1_000;

/** A task as `tasks.status` shows it. */
interface Task {
  readonly state: string;
  readonly done: number;
  readonly result: JsonValue;
  readonly error: string | null;
}

/** One administrative call, as the command line makes it. @throws Error where it was refused */
export async function callAdmin<Output>(
  port: number,
  path: string,
  input: object,
): Promise<Output> {
  const response = await fetch(`http://127.0.0.1:${port}/admin/trpc/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(input),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${text.slice(0, 300)}`);
  return (JSON.parse(text) as { result: { data: Output } }).result.data;
}

/**
 * Orders a training and waits for its end.
 *
 * @param onLook  called every second with the share that is done, 0 to 100
 * @returns the task's result, and the seconds from the order to the end
 */
export async function trainOverHttp(
  port: number,
  siteCode: string,
  onLook: (percent: number) => void,
): Promise<{ readonly result: JsonValue; readonly seconds: number }> {
  const began = performance.now();
  const { task_id } = await callAdmin<{ task_id: string }>(port, 'models.train', {
    site_code: siteCode,
  });
  for (;;) {
    await sleep(LOOK_MS);
    const task = await patiently(() => callAdmin<Task>(port, 'tasks.status', { task_id }));
    onLook(task.done);
    if (task.state === 'DONE') {
      return { result: task.result, seconds: (performance.now() - began) / 1000 };
    }
    if (task.state !== 'QUEUED' && task.state !== 'RUNNING') {
      throw new Error(`The training ended ${task.state}: ${task.error ?? ''}`);
    }
  }
}
