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

/** CPU seconds that all of the machine's processes and its kernel have used since it started; NaN without /proc. */
export function busySecondsOfMachine(): number {
  try {
    const [line = ''] = readFileSync('/proc/stat', 'latin1').split('\n', 1);
    // user, nice, system, idle, iowait, irq, softirq, steal
    const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line
      .split(/ +/)
      .slice(1)
      .map(Number);
    return (user + nice + system + irq + softirq) / TICKS;
  } catch {
    return Number.NaN;
  }
}
