import { MAX_COUNTERPARTS } from './state.ts';

/**
 * The counterparts of an entity that were seen last, in one flat ascending array: [last sight, hash, ...], at most
 * {@link MAX_COUNTERPARTS} of them.
 *
 * Keeping the latest sights gives exact counts up to the cap: if fewer than the cap were seen since an edge, all of
 * them are among the kept ones. The set is the same in whatever order events come.
 */
export type Counterparts = number[];

/** 30 bits of an entity's key: among 100 kept ones a newcomer is mistaken once in ten million times. */
export function counterpartHash(key: string): number {
  return Number.parseInt(key.slice(0, 8), 16) >>> 2;
}

/** Notes that a counterpart was seen; `sight` counts units of 10 s since 1970 UTC. */
export function see(list: Counterparts, hash: number, sight: number): void {
  const found = positionOf(list, hash);
  if (found >= 0) {
    if ((list[found] as number) >= sight) return;
    list.splice(found, 2);
  }
  let at = list.length;
  while (at > 0 && isAfter(list, at - 2, sight, hash)) at -= 2;
  if (list.length === 2 * MAX_COUNTERPARTS) {
    if (at === 0) return;
    list.splice(0, 2);
    at -= 2;
  }
  if (at === list.length) list.push(sight, hash);
  else list.splice(at, 0, sight, hash);
}

/** Position of the first one last seen at or after `from`, searched backwards from `start`, which must not be before it. */
export function firstSince(list: Counterparts, from: number, start: number): number {
  let at = start;
  while (at > 0 && (list[at - 2] as number) >= from) at -= 2;
  return at;
}

/** Whether a counterpart was last seen at or after `from`. */
export function isKnownSince(list: Counterparts, hash: number, from: number): boolean {
  const at = positionOf(list, hash);
  return at >= 0 && (list[at] as number) >= from;
}

/** Drops those last seen before `oldest`. */
export function forgetBefore(list: Counterparts, oldest: number): void {
  let at = 0;
  while (at < list.length && (list[at] as number) < oldest) at += 2;
  if (at > 0) list.splice(0, at);
}

function positionOf(list: Counterparts, hash: number): number {
  let at = list.length - 2;
  while (at >= 0 && list[at + 1] !== hash) at -= 2;
  return at;
}

function isAfter(list: Counterparts, at: number, sight: number, hash: number): boolean {
  const other = list[at] as number;
  return other > sight || (other === sight && (list[at + 1] as number) > hash);
}
