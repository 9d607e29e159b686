import { z } from 'zod';

/** A 64-bit database id in JSON: decimal digits, because a JSON number is exact only to 2^53. */
const DatabaseId = z.string().regex(/^[1-9][0-9]{0,18}$/, { error: 'must be decimal digits' });

/** Payload of a job on the queue `evaluate`: names one ledger row, holds nothing of the event. */
export const EvaluateJob = z.strictObject({ site_id: DatabaseId, ingestion_id: DatabaseId });
/** Payload of a job on the queue `evaluate`. */
export type EvaluateJob = z.infer<typeof EvaluateJob>;

/** Payload of a job on the queue `task`: names one row of the table of tasks. */
export const TaskJob = z.strictObject({ task_id: DatabaseId });
/** Payload of a job on the queue `task`. */
export type TaskJob = z.infer<typeof TaskJob>;

/** Payload of a job on the queue `webhook`: names one delivery, holds neither body nor address. */
export const WebhookJob = z.strictObject({
  site_id: DatabaseId,
  endpoint_id: DatabaseId,
  event_id: z.uuid(),
});
/** Payload of a job on the queue `webhook`. */
export type WebhookJob = z.infer<typeof WebhookJob>;
