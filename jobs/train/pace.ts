/** Work between two rests, ms of processor time; and rest for each of it, so that a training takes half a core. */
const WORK_MS = 4;
const REST = 1;

/** What a pace is measured and kept by. */
export interface PaceOptions {
  /** Processor time that this thread has used, ms. */
  readonly used?: () => number;
  /** Stops this thread for so many ms. */
  readonly pause?: (milliseconds: number) => void;
}

/**
 * Returns what a long calculation calls again and again; it pauses the thread in turn with its work. A low priority alone
 * keeps the processor free for requests, but not the memory: what a training reads and writes slows them on every core.
 */
export function createPace({
  used = threadMilliseconds,
  pause = pauseThread,
}: PaceOptions = {}): () => void {
  let since = used();
  return () => {
    const worked = used() - since;
    if (worked < WORK_MS) return;
    pause(worked * REST);
    since = used();
  };
}

function threadMilliseconds(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4));

function pauseThread(milliseconds: number): void {
  Atomics.wait(NEVER_WOKEN, 0, 0, milliseconds);
}
