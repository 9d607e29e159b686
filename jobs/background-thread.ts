import { getPriority, setPriority } from 'node:os';
import { parentPort, Worker } from 'node:worker_threads';
import type { TaskRun } from './tasks.ts';

/** What a thread says: how far it is, 0 to 1, and in the end its answer. */
type Message<Answer> = { readonly share: number } | { readonly answer: Answer };

/** Nice value of such a thread: requests and evaluations take the processor first. */
const NICE = 10;

/** What is large lies outside the heap or is read page by page; what is left are ids, times and scores. */
const HEAP_MB = 1_024;

/** Least time between two notes of progress, ms. */
const NOTE_MS = 2_000;

/**
 * Runs a file in a thread of its own, which answers by {@link answerInBackground}: for work that would keep the process
 * from answering requests. Its progress is noted in percent, at most every two seconds; a note that fails is left out.
 *
 * @throws what the thread threw, or an AbortError when `signal` ended it
 */
export async function runInBackground<Answer>(
  file: URL,
  order: unknown,
  { progress, signal }: Pick<TaskRun, 'progress' | 'signal'>,
): Promise<Answer> {
  let noted = 0;
  let noting = Promise.resolve();
  const answer = await answerOfThread<Answer>(
    file,
    order,
    (share) => {
      if (performance.now() - noted < NOTE_MS) return;
      noted = performance.now();
      noting = noting.then(() =>
        progress({ done: Math.round(share * 100), total: 100 }).catch(() => undefined),
      );
    },
    signal,
  );
  await noting;
  return answer;
}

function answerOfThread<Answer>(
  file: URL,
  order: unknown,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(file, {
      workerData: order,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    const stop = (): void => void thread.terminate();
    signal.addEventListener('abort', stop, { once: true });
    let last: { readonly answer: Answer } | undefined;
    thread.on('message', (message: Message<Answer>) => {
      if ('share' in message) onProgress(message.share);
      else last = message;
    });
    thread.on('error', reject);
    thread.on('exit', (code) => {
      signal.removeEventListener('abort', stop);
      if (last !== undefined) resolve(last.answer);
      else if (signal.aborted) reject(new DOMException('stopped', 'AbortError'));
      else reject(new Error(`a background thread ended with ${code}`));
    });
  });
}

/** The thread's part: works with a lower priority, where the system allows it, and sends what it found. */
export async function answerInBackground<Answer>(
  work: (onProgress: (share: number) => void) => Promise<Answer>,
): Promise<void> {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  const send = (message: Message<Answer>): void => parentPort?.postMessage(message);
  try {
    // Never higher than it is. On Linux 0 means this thread alone; elsewhere it may be refused, which only makes it a
    // worse neighbour.
    setPriority(0, Math.max(NICE, getPriority(0)));
  } catch {
    // Goes on with the priority it has.
  }
  send({ answer: await work((share) => send({ share })) });
}
