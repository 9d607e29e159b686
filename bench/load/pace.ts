import { setTimeout as sleep } from 'node:timers/promises';
import type { Tally } from './tally.ts';

/** One connection: sends a request and says how it was answered (a status, 0 for a broken connection). */
export interface Lane {
  send(): Promise<number>;
}

/** Each lane sends when its last request is answered, until `stop`. */
export async function sendClosed(
  lanes: readonly Lane[],
  tally: Tally,
  stop: AbortSignal,
): Promise<void> {
  await Promise.all(
    lanes.map(async (lane) => {
      while (!stop.aborted) {
        const sent = performance.now();
        const status = await lane.send();
        tally.record(status, performance.now() - sent);
        // A server that is gone must not make a busy loop of this.
        if (status === 0) await sleep(10);
      }
    }),
  );
}

/**
 * Sends at fixed moments. A request whose lanes are all busy waits, and its wait counts: a stalled server is seen by
 * everybody who would have called meanwhile. Returns how many were due and not sent at the end.
 */
export async function sendOpen(
  lanes: readonly Lane[],
  perSecond: number,
  tally: Tally,
  stop: AbortSignal,
): Promise<number> {
  const interval = 1000 / perSecond;
  const idle = [...lanes];
  const due: number[] = [];
  const running = new Set<Promise<void>>();
  const send = async (lane: Lane, at: number): Promise<void> => {
    const status = await lane.send();
    tally.record(status, performance.now() - at);
    const waiting = due.shift();
    if (waiting !== undefined && !stop.aborted) return send(lane, waiting);
    idle.push(lane);
  };
  let next = performance.now();
  while (!stop.aborted) {
    for (const now = performance.now(); next <= now; next += interval) {
      const lane = idle.pop();
      if (lane === undefined) {
        due.push(next);
        continue;
      }
      const sending: Promise<void> = send(lane, next).finally(() => running.delete(sending));
      running.add(sending);
    }
    await sleep(Math.max(0, next - performance.now()));
  }
  await Promise.all(running);
  return due.length;
}
