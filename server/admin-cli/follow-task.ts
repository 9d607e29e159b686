import { setTimeout as sleep } from 'node:timers/promises';
import { callProcedure, CallRefused, TryLater, type Connection } from './client.ts';

/** How often a task is looked at, ms. */
const LOOK_MS = 1_000;

/** What is needed of tasks.status. */
interface Task {
  readonly state: string;
  readonly done: number;
  readonly total: number | null;
  readonly error: string | null;
}

/**
 * Follows the task that a call started until it has ended; an answer without a task is handed back as it is. A database
 * that is away for a while is waited for: the task goes on by itself.
 *
 * @returns the task as it ended
 * @throws CallRefused when it ended otherwise than DONE
 */
export async function followTask(
  connection: Connection,
  answer: unknown,
  progress: (line: string) => void = () => undefined,
): Promise<unknown> {
  const id = taskIdOf(answer);
  if (id === undefined) return answer;
  for (;;) {
    const task = await look(connection, id);
    if (task !== undefined) {
      const of = task.total === null ? '' : ` of ${task.total}`;
      progress(`task ${id}: ${task.state} ${task.done}${of}`);
      if (task.state === 'DONE') {
        progress('');
        return task;
      }
      if (task.state !== 'QUEUED' && task.state !== 'RUNNING') {
        progress('');
        throw new CallRefused(
          `Task ${id} ended ${task.state} after ${task.done}${of}${task.error === null ? '' : `: ${task.error}`}.`,
        );
      }
    }
    await sleep(LOOK_MS);
  }
}

function taskIdOf(answer: unknown): string | undefined {
  if (typeof answer !== 'object' || answer === null || !('task_id' in answer)) return undefined;
  return typeof answer.task_id === 'string' ? answer.task_id : undefined;
}

async function look(connection: Connection, id: string): Promise<Task | undefined> {
  try {
    const status = { path: 'tasks.status', type: 'query' } as const;
    return (await callProcedure(connection, status, { task_id: id })) as Task;
  } catch (error: unknown) {
    if (error instanceof TryLater) return undefined;
    throw error;
  }
}
