import { z } from 'zod';
import { IngestionId, RequestId, SourceEventId } from './primitives.ts';

/** What the payment turned out to be. */
export const OutcomeLabel = z.enum(['FRAUD_CONFIRMED', 'FALSE_POSITIVE', 'CHARGEBACK_CONFIRMED']);
/** One of {@link OutcomeLabel}. */
export type OutcomeLabel = z.infer<typeof OutcomeLabel>;

/** Request body of POST /v1/transactions/{sourceEventId}/outcomes (contract, section 2.10). */
export const OutcomeLabelRequest = z
  .strictObject({ outcome_label: OutcomeLabel })
  .meta({ id: 'OutcomeLabelRequest', example: { outcome_label: 'FRAUD_CONFIRMED' } });
/** Request body of POST /v1/transactions/{sourceEventId}/outcomes. */
export type OutcomeLabelRequest = z.infer<typeof OutcomeLabelRequest>;

/** 202 body of POST /v1/transactions/{sourceEventId}/outcomes (contract, section 2.10). */
export const OutcomeLabelAccepted = z
  .strictObject({
    request_id: RequestId,
    ingestion_id: IngestionId,
    source_event_id: SourceEventId,
    outcome_label: OutcomeLabel,
    status: z.literal('ACCEPTED'),
  })
  .meta({ id: 'OutcomeLabelAccepted' });
/** 202 body of POST /v1/transactions/{sourceEventId}/outcomes. */
export type OutcomeLabelAccepted = z.infer<typeof OutcomeLabelAccepted>;
