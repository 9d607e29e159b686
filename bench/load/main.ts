import { setTimeout as sleep } from 'node:timers/promises';
import { HttpLane } from './http-lane.ts';
import { sendClosed, sendOpen, type Lane } from './pace.ts';
import type { LoadMessage, LoadOrder, ParentMessage } from './protocol.ts';
import { ReferenceLane } from './reference-lane.ts';
import { RequestSource } from './requests.ts';
import { Tally } from './tally.ts';

/** A lane with its ends. */
interface OpenLane extends Lane {
  readonly withoutRetryAfter: () => number;
  close(): unknown;
}

const tell = (message: LoadMessage): void => void process.send?.(message);

/** Connections opened at once: a listen backlog is finite. */
const OPENING = 200;

async function openLanes(order: LoadOrder, source: RequestSource): Promise<OpenLane[]> {
  const { target, pace } = order;
  const lanes: OpenLane[] = [];
  while (lanes.length < pace.connections) {
    const some = Array.from(
      { length: Math.min(OPENING, pace.connections - lanes.length) },
      async () => {
        if (target.kind === 'postgres') {
          const lane = new ReferenceLane(target.writes, source);
          await lane.open(target.url);
          return {
            send: () => lane.send(),
            withoutRetryAfter: () => 0,
            close: () => lane.close(),
          };
        }
        const lane = new HttpLane(target.port);
        await lane.open();
        return {
          send: () => lane.send(source.http()),
          withoutRetryAfter: () => lane.withoutRetryAfter,
          close: () => lane.close(),
        };
      },
    );
    lanes.push(...(await Promise.all(some)));
  }
  return lanes;
}

async function run(order: LoadOrder, enough: Promise<unknown>): Promise<void> {
  const source = new RequestSource(order);
  const lanes = await openLanes(order, source);
  const tally = new Tally();
  const stop = new AbortController();
  const { pace } = order;
  const sending =
    pace.kind === 'closed'
      ? sendClosed(lanes, tally, stop.signal).then(() => 0)
      : sendOpen(lanes, pace.perSecond, tally, stop.signal);
  await sleep(order.warmUpSeconds * 1000);
  tally.begin();
  tell({ event: 'measuring' });
  await Promise.race([sleep(order.seconds * 1000, undefined, { ref: false }), enough]);
  const measured = tally.end();
  stop.abort();
  // Told at once: the caller's own measurements end with the phase, not with its stragglers.
  tell({ event: 'measured' });
  const unsent = await Promise.race([sending, sleep(5_000, 0, { ref: false })]);
  const withoutRetryAfter = lanes.reduce((sum, lane) => sum + lane.withoutRetryAfter(), 0);
  tell({
    event: 'result',
    result: { ...measured, unsent, withoutRetryAfter, next: source.next },
  });
  await Promise.all(lanes.map((lane) => lane.close()));
}

process.once('message', (message: ParentMessage) => {
  if (!('order' in message)) return;
  const enough = new Promise((resolve) => {
    process.once('message', resolve);
  });
  run(message.order, enough)
    .catch((error: unknown) => {
      tell({ event: 'failed', message: error instanceof Error ? error.message : 'failed' });
    })
    .finally(() => process.disconnect());
});
// A bench that is gone must not leave its load behind. After a load's own end this is how it leaves.
process.once('disconnect', () => process.exit());
tell({ event: 'ready' });
