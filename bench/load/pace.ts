import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from './monotonic.ts';
import type { Tally } from './tally.ts';
import { startTicker } from './ticker.ts';

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

/** Between two looks at what is due, ms, at least: above 1,000 per second some are sent together. */
const SHORTEST_TICK_MS = 1;

/** The same moment, added up in two ways. */
const ROUNDING_MS = 0.01;

/**
 * Sends at fixed moments. A request whose lanes are all busy waits, and its wait counts: a stalled server is seen by
 * everybody who would have called meanwhile. How late the load itself was, with a lane at hand, is tallied apart.
 * Returns how many were due and not sent at the end.
 */
export async function sendOpen(
  lanes: readonly Lane[],
  perSecond: number,
  tally: Tally,
  stop: AbortSignal,
): Promise<number> {
  const interval = 1000 / perSecond;
  const idle = [...lanes];
  const due = new DueTimes();
  const running = new Set<Promise<void>>();
  const send = async (lane: Lane, at: number): Promise<void> => {
    const status = await lane.send();
    tally.record(status, monotonicMs() - at);
    const waiting = stop.aborted ? undefined : due.take();
    if (waiting !== undefined) return send(lane, waiting);
    idle.push(lane);
  };
  let next: number | undefined;
  const ticker = startTicker(Math.max(SHORTEST_TICK_MS, interval), (tick) => {
    next ??= tick;
    for (; next <= tick + ROUNDING_MS; next += interval) {
      const lane = idle.pop();
      if (lane === undefined) {
        due.add(next);
        continue;
      }
      tally.sentLate(monotonicMs() - next);
      const sending: Promise<void> = send(lane, next).finally(() => running.delete(sending));
      running.add(sending);
    }
  });
  await new Promise<void>((resolve) => {
    if (stop.aborted) resolve();
    else stop.addEventListener('abort', () => resolve(), { once: true });
  });
  await ticker.stop();
  await Promise.all(running);
  return due.length;
}

/** First in, first out, whatever its length: far past saturation hundreds of thousands wait. */
class DueTimes {
  #times: number[] = [];
  #first = 0;

  get length(): number {
    return this.#times.length - this.#first;
  }

  add(time: number): void {
    this.#times.push(time);
  }

  take(): number | undefined {
    const time = this.#times[this.#first];
    if (time === undefined) return undefined;
    this.#first += 1;
    if (this.#first === 4_096) {
      this.#times = this.#times.slice(this.#first);
      this.#first = 0;
    }
    return time;
  }
}
