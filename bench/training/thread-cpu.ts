import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks per second in /proc; 100 on every Linux that Node runs on. */
const TICKS = 100;

/** CPU seconds of every thread of a process by its id; empty without /proc. */
export function threadCpuSeconds(pid: number): Map<string, number> {
  const seconds = new Map<string, number>();
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
      // The name, in parentheses, may hold anything.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      seconds.set(thread, (Number(fields[11]) + Number(fields[12])) / TICKS);
    }
  } catch {
    // A thread that ended meanwhile, or no /proc.
  }
  return seconds;
}

/** Of the threads that a process did not have before, the one that has used most CPU so far; seconds, NaN without one. */
export function busiestNewThread(
  before: ReadonlyMap<string, number>,
  now: ReadonlyMap<string, number>,
): number {
  let most = Number.NaN;
  for (const [thread, seconds] of now) {
    if (!before.has(thread) && !(seconds <= most)) most = seconds;
  }
  return most;
}
