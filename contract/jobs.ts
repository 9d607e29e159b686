import { z } from 'zod';

/** A 64-bit database id in JSON: decimal digits, because a JSON number is exact only to 2^53. */
const DatabaseId = z.string().regex(/^[1-9][0-9]{0,18}$/, { error: 'must be decimal digits' });

/** Payload of a job on the queue `evaluate`: names one ledger row, holds nothing of the event. */
export const EvaluateJob = z.strictObject({ site_id: DatabaseId, ingestion_id: DatabaseId });
/** Payload of a job on the queue `evaluate`. */
export type EvaluateJob = z.infer<typeof EvaluateJob>;
