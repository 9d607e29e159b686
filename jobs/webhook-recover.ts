import { z } from 'zod';
import type { WebhookEventType } from '../contract/webhook.ts';
import type { Clock } from '../ledger/clock.ts';
import { run as runSql, type Db } from '../ledger/database.ts';
import { rescheduleDeliveries } from '../ledger/webhook-deliveries.ts';
import { insertDeliveries, type EnqueueDeliveries } from '../ledger/webhook-events.ts';
import { findUndelivered } from '../ledger/webhook-recovery.ts';
import { TaskRefused, type TaskHandler } from './tasks.ts';

/** The kind of task that `webhooks.recover` starts. */
export const RECOVER = 'webhooks.recover';

/** Events looked at in one transaction. */
const PAGE = 500;

/** What the task is told: which endpoint, since when, and how many deliveries may fall due in a second. */
export const RecoverInput = z.strictObject({
  endpoint_id: z.string(),
  since: z.iso.datetime(),
  per_second: z.int().min(1),
});

/** What a crash must not forget: where it was, what it counted and when the first delivery fell due (ms). */
const Position = z.strictObject({
  cursor: z.string().nullable(),
  looked_at: z.int(),
  begun_at: z.int(),
});

/**
 * Queues every event since a moment that an endpoint has not got, page by page, spread over time so that a receiver
 * that has just come back is not flooded.
 */
export function createRecoverHandler(options: {
  readonly requeue: EnqueueDeliveries;
  readonly clock: Clock;
}): TaskHandler {
  const { requeue, clock } = options;
  return async (task, run) => {
    const input = RecoverInput.parse(task.input);
    const endpoint = { siteId: task.siteId, endpointId: BigInt(input.endpoint_id) };
    let at = Position.parse(task.position ?? { cursor: null, looked_at: 0, begun_at: clock.now() });
    let recovered = task.done;
    for (let more = true; more;) {
      run.signal.throwIfAborted();
      more = await run.transaction(async (db) => {
        const types = await activeTypes(db, endpoint.endpointId);
        const page = await findUndelivered(db, endpoint, {
          types,
          since: Date.parse(input.since),
          after: at.cursor ?? undefined,
          limit: PAGE,
        });
        const now = clock.now();
        const due = page.events.map(({ eventId, type, delivery }, index) => {
          const planned = at.begun_at + ((recovered + index) * 1000) / input.per_second;
          return { ...endpoint, eventId, type, delivery, at: Math.max(now, Math.round(planned)) };
        });
        await insertDeliveries(
          db,
          due
            .filter(({ delivery }) => delivery === 'none')
            .map(({ type, at: nextAttemptAt, ...ref }) => ({
              siteId: ref.siteId,
              endpointId: ref.endpointId,
              eventId: ref.eventId,
              // Written by us, from the same list of types.
              type: type as WebhookEventType,
              nextAttemptAt,
            })),
        );
        await rescheduleDeliveries(
          db,
          due.filter(({ delivery }) => delivery === 'unsuccessful'),
        );
        await requeue(
          db,
          due.map((delivery) => ({ ...delivery, afterSeconds: (delivery.at - now) / 1000 })),
        );
        recovered += due.length;
        at = {
          ...at,
          cursor: page.cursor ?? at.cursor,
          looked_at: at.looked_at + page.looked,
        };
        await run.progress({ done: recovered, position: at }, db);
        return page.cursor !== undefined;
      });
    }
    return { recovered, looked_at: at.looked_at };
  };
}

/** @throws TaskRefused where deliveries would only fail again */
async function activeTypes(db: Db, endpointId: bigint): Promise<string[]> {
  const { rows } = await runSql<{ state: string; event_types: string[] }>(
    db,
    'select state, to_json(event_types) as event_types from webhook_endpoint where id = $1',
    [endpointId],
  );
  if (rows[0]?.state !== 'ACTIVE') {
    throw new TaskRefused(
      'The endpoint is not active; activate it with webhooks.activate, then recover again.',
    );
  }
  return rows[0].event_types;
}
