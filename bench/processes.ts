import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks per second in /proc; 100 on every Linux that Node runs on. */
const TICKS = 100;

interface ProcessTimes {
  readonly parent: number;
  /** CPU seconds of the process itself and of its children that have ended. */
  readonly own: number;
  readonly ended: number;
}

function timesOf(pid: number): ProcessTimes | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in parentheses, may hold anything.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
    return { parent, own: (user + system) / TICKS, ended: (endedUser + endedSystem) / TICKS };
  } catch {
    return undefined;
  }
}

/** CPU seconds a process has used; NaN where there is no /proc or no such process. */
export function cpuSecondsOf(pid: number): number {
  return timesOf(pid)?.own ?? Number.NaN;
}

/** CPU seconds of a process, its children and those that have ended: a database server as a whole. NaN without /proc. */
export function cpuSecondsOfTree(pid: number): number {
  const root = timesOf(pid);
  if (root === undefined) return Number.NaN;
  let sum = root.own + root.ended;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const times = timesOf(Number(name));
    if (times?.parent === pid) sum += times.own;
  }
  return sum;
}

/** Resident memory of a process, MB; NaN where there is no /proc or no such process. */
export function residentMegabytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  } catch {
    return Number.NaN;
  }
}
