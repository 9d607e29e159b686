import { z } from 'zod';
import { canonicalJson } from '../../contract/canonical-json.ts';
import { Refusal } from '../../contract/errors.ts';
import { AcceptedIngestion, SandboxSimulation } from '../../contract/ingestion.ts';
import { ingestionIdOf, parseInstant } from '../../contract/primitives.ts';
import { wordProblems } from '../../contract/problem.ts';
import {
  crossFieldProblems,
  customerTypeProblems,
  normalizedSourceEventId,
} from '../../contract/transaction-rules.ts';
import { TransactionEvent } from '../../contract/transaction.ts';
import type { Submission } from '../../ledger/submission.ts';
import { simulate, type RulesNow } from '../../risk/sandbox.ts';
import { idempotentProcedure, type Caller } from '../procedure.ts';
import { keyHashOf, sha256 } from './fingerprint.ts';

/** POST /v1/transactions: accepts an event into the ledger, or simulates its evaluation for a sandbox credential. */
export const submitTransaction = idempotentProcedure('ingest')
  .meta({
    openapi: {
      method: 'POST',
      path: '/v1/transactions',
      operationId: 'submitTransaction',
      summary: 'Submit a transaction event',
      tags: ['Transactions'],
    },
  })
  .input(TransactionEvent)
  .output(z.union([AcceptedIngestion, SandboxSimulation]))
  .mutation(async ({ ctx, input }) => {
    const { caller, services } = ctx;
    const problems = [
      ...crossFieldProblems(input),
      ...customerTypeProblems(input, caller.customerType),
    ];
    if (problems.length > 0) {
      throw new Refusal('CONTRACT_VALIDATION_FAILED', { details: wordProblems(problems) });
    }
    const receivedAt = services.clock.now();
    if (caller.environment === 'sandbox') {
      return simulated(ctx.requestId, input, await services.rulesNow(caller.siteId));
    }
    const acceptance = await services.ingest.submit(
      submissionOf(caller, ctx.idempotencyKey, input, receivedAt),
      ctx.admission,
    );
    if (ctx.reply !== undefined) {
      ctx.reply.status = 202;
      if (acceptance.replayed) ctx.reply.headers.set('idempotent-replayed', 'true');
    }
    return {
      request_id: ctx.requestId,
      ingestion_id: ingestionIdOf(acceptance.ingestionId),
      status: 'ACCEPTED' as const,
      received_at: new Date(acceptance.receivedAt).toISOString(),
      schema_version: '1.0' as const,
      source_event_id: acceptance.sourceEventId,
      processing_state: 'QUEUED' as const,
    };
  });

function simulated(requestId: string, event: TransactionEvent, rules: RulesNow): SandboxSimulation {
  const { risk_score, decision, reasons } = simulate(event, rules);
  return {
    request_id: requestId,
    environment: 'sandbox',
    status: 'SIMULATED',
    accepted: true,
    persistence: 'NONE',
    source_event_id: normalizedSourceEventId(event),
    risk_score,
    decision,
    reasons: [...reasons],
  };
}

function submissionOf(
  caller: Caller,
  idempotencyKey: string,
  event: TransactionEvent,
  receivedAt: number,
): Submission {
  const { transaction } = event;
  const body = canonicalJson(event);
  const sourceEventId = normalizedSourceEventId(event);
  return {
    siteId: caller.siteId,
    credentialId: caller.credentialId,
    keyHash: keyHashOf(idempotencyKey),
    payloadHash: sha256(body),
    sourceEventId,
    callerEventId: sourceEventId === event.source_event_id ? null : event.source_event_id,
    originalEventId: transaction.original_event_id ?? null,
    receivedAt,
    occurredAt: parseInstant(transaction.occurred_at) ?? receivedAt,
    eventType: event.event_type,
    transactionType: transaction.type,
    transactionStatus: transaction.status,
    amountMinor: transaction.amount_minor,
    currency: transaction.currency,
    merchantSubject: event.merchant_external_id ?? caller.defaultSubject,
    body,
  };
}
