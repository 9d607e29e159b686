import { z } from 'zod';
import { IngestionId, Instant, RequestId, SourceEventId } from './primitives.ts';
import { Risk } from './risk.ts';

/** Progress of the evaluation, in the contract's vocabulary (section 3). */
export const EvaluationStatus = z.enum([
  'PENDING',
  'PROCESSING',
  'RETRY_SCHEDULED',
  'SUCCEEDED',
  'DLQ',
]);
/** One of {@link EvaluationStatus}. */
export type EvaluationStatus = z.infer<typeof EvaluationStatus>;

/** 202 body of POST /v1/transactions (contract, section 2.5): sent only after the event and its job are committed. */
export const AcceptedIngestion = z
  .object({
    request_id: RequestId,
    ingestion_id: IngestionId,
    status: z.literal('ACCEPTED'),
    received_at: Instant,
    schema_version: z.literal('1.0'),
    source_event_id: SourceEventId,
    processing_state: z.enum(['QUEUED', 'VALIDATED']),
  })
  .meta({ id: 'AcceptedIngestion' });
/** 202 body of POST /v1/transactions. */
export type AcceptedIngestion = z.infer<typeof AcceptedIngestion>;

/** What the sandbox advises: it knows no HOLD. */
export const SandboxDecision = z.enum(['ALLOW', 'REVIEW', 'BLOCK']);
/** One of {@link SandboxDecision}. */
export type SandboxDecision = z.infer<typeof SandboxDecision>;

/** 200 body of POST /v1/transactions in the sandbox (contract, section 2.6): nothing was persisted. */
export const SandboxSimulation = z
  .object({
    request_id: RequestId,
    environment: z.literal('sandbox'),
    status: z.literal('SIMULATED'),
    accepted: z.literal(true),
    persistence: z.literal('NONE'),
    source_event_id: SourceEventId,
    risk_score: z.int().min(0).max(100),
    decision: SandboxDecision,
    reasons: z.array(z.string()).optional(),
  })
  .meta({ id: 'SandboxSimulation' });
/** 200 body of POST /v1/transactions in the sandbox. */
export type SandboxSimulation = z.infer<typeof SandboxSimulation>;

/** 200 body of GET /v1/ingestions/{ingestionId} (contract, section 2.7); risk is null until SUCCEEDED. */
export const IngestionStatus = z
  .object({
    request_id: RequestId,
    ingestion_id: IngestionId,
    source_event_id: SourceEventId,
    evaluation_status: EvaluationStatus,
    received_at: Instant,
    risk: Risk.nullable(),
  })
  .meta({ id: 'IngestionStatus' });
/** 200 body of GET /v1/ingestions/{ingestionId}. */
export type IngestionStatus = z.infer<typeof IngestionStatus>;

/** 200 body of GET /v1/transactions/{sourceEventId}/risk (contract, section 2.8); without received_at. */
export const TransactionRiskStatus = z
  .strictObject({
    request_id: RequestId,
    ingestion_id: IngestionId,
    source_event_id: SourceEventId,
    evaluation_status: EvaluationStatus,
    risk: Risk.nullable(),
  })
  .meta({ id: 'TransactionRiskStatus' });
/** 200 body of GET /v1/transactions/{sourceEventId}/risk. */
export type TransactionRiskStatus = z.infer<typeof TransactionRiskStatus>;
