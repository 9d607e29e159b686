import { fromKysely, type PgBoss } from 'pg-boss';
import type { WebhookJob } from '../contract/jobs.ts';
import type { Db } from '../ledger/database.ts';
import {
  recordWebhookEvents,
  type EnqueueDeliveries,
  type QueuedDelivery,
  type RecordWebhookEvents,
} from '../ledger/webhook-events.ts';
import { deliveryJobId } from '../ledger/webhook-ids.ts';
import { WEBHOOK } from './queues.ts';

/**
 * Queues deliveries in the caller's transaction, one statement for all. One that has a job already keeps it. The job's
 * group is the endpoint, so that a fetch can leave out endpoints that are busy or spared.
 */
export async function enqueueDeliveries(
  boss: PgBoss,
  db: Db,
  deliveries: readonly QueuedDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const jobs = deliveries.map(({ siteId, endpointId, eventId, afterSeconds }) => {
    const data: WebhookJob = {
      site_id: String(siteId),
      endpoint_id: String(endpointId),
      event_id: eventId,
    };
    return {
      id: deliveryJobId({ endpointId, eventId }),
      data,
      group: { id: String(endpointId) },
      ...(afterSeconds === undefined ? {} : { startAfter: afterSeconds }),
    };
  });
  await boss.insert(WEBHOOK, jobs, { db: fromKysely(db) });
}

/**
 * Queues deliveries anew, whatever became of their earlier jobs, in the caller's transaction. A job that is under way
 * at this moment loses its claim: what it did may be done again, with the same event id.
 */
export async function requeueDeliveries(
  boss: PgBoss,
  db: Db,
  deliveries: readonly QueuedDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  await boss.deleteJob(WEBHOOK, deliveries.map(deliveryJobId), { db: fromKysely(db) });
  await enqueueDeliveries(boss, db, deliveries);
}

/** What procedures and evaluations get of this file, bound to the queue. */
export function webhookQueue(boss: PgBoss): {
  readonly record: RecordWebhookEvents;
  readonly enqueue: EnqueueDeliveries;
  readonly requeue: EnqueueDeliveries;
} {
  const enqueue: EnqueueDeliveries = (db, deliveries) => enqueueDeliveries(boss, db, deliveries);
  return {
    record: (db, events, now) => recordWebhookEvents(db, events, now, enqueue),
    enqueue,
    requeue: (db, deliveries) => requeueDeliveries(boss, db, deliveries),
  };
}
