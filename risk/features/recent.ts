import { MAX_RECENT } from './state.ts';

/** How an attempt ended. At one instant declines count as earlier than an approval, which ends a run. */
export const ENDING = { declined: 0, undecided: 1, approved: 2 } as const;
/** One of {@link ENDING}. */
export type Ending = (typeof ENDING)[keyof typeof ENDING];

/** Adds an attempt to the newest ones, dropping the oldest beyond {@link MAX_RECENT}. */
export function addRecent(recent: number[], at: number, ending: Ending): void {
  const entry = at * 4 + ending;
  let position = recent.length;
  while (position > 0 && (recent[position - 1] as number) > entry) position--;
  if (recent.length === MAX_RECENT) {
    if (position === 0) return;
    recent.shift();
    position--;
  }
  if (position === recent.length) recent.push(entry);
  else recent.splice(position, 0, entry);
}

/** Instant of the last attempt at or before `at`; undefined where none is kept. */
export function lastAttempt(recent: readonly number[], at: number): number | undefined {
  for (let i = recent.length - 1; i >= 0; i--) {
    const instant = Math.floor((recent[i] as number) / 4);
    if (instant <= at) return instant;
  }
  return undefined;
}

/** Declines since the last approval, of the kept attempts at or before `at`; undecided attempts neither count nor end it. */
export function declinesInRow(recent: readonly number[], at: number): number {
  let declines = 0;
  for (let i = recent.length - 1; i >= 0; i--) {
    const entry = recent[i] as number;
    const instant = Math.floor(entry / 4);
    if (instant > at) continue;
    const ending = entry - instant * 4;
    if (ending === ENDING.approved) break;
    if (ending === ENDING.declined) declines++;
  }
  return declines;
}
