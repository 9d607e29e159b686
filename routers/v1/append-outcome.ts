import { canonicalJson } from '../../contract/canonical-json.ts';
import { Refusal } from '../../contract/errors.ts';
import { OutcomeLabelAccepted, OutcomeLabelRequest } from '../../contract/outcome.ts';
import { ingestionIdOf, SourceEventId } from '../../contract/primitives.ts';
import { appendLabel } from '../../ledger/append-label.ts';
import type { TransactionEvent } from '../../contract/transaction.ts';
import { entitiesOf } from '../../risk/entities.ts';
import { idempotentProcedure } from '../procedure.ts';
import { keyHashOf, sha256 } from './fingerprint.ts';

/** POST /v1/transactions/{sourceEventId}/outcomes: appends a confirmed outcome; the event is not modified. */
export const appendTransactionOutcome = idempotentProcedure('label')
  .meta({
    openapi: {
      method: 'POST',
      path: '/v1/transactions/{sourceEventId}/outcomes',
      operationId: 'appendTransactionOutcome',
      summary: 'Append a confirmed outcome to a transaction',
      tags: ['Transactions'],
    },
  })
  .input(OutcomeLabelRequest.extend({ sourceEventId: SourceEventId }))
  .output(OutcomeLabelAccepted)
  .mutation(async ({ ctx, input }) => {
    const { caller, services } = ctx;
    if (caller.environment === 'sandbox') throw new Refusal('TRANSACTION_NOT_FOUND');
    const label = {
      siteId: caller.siteId,
      credentialId: caller.credentialId,
      sourceEventId: input.sourceEventId,
      outcomeLabel: input.outcome_label,
      keyHash: keyHashOf(ctx.idempotencyKey),
      fingerprint: sha256(canonicalJson(input)),
      labelledAt: services.clock.now(),
    };
    const acceptance = await services.orm.em
      .fork()
      .transactional((em) =>
        appendLabel(em.getKysely(), label, entitiesOfBody, services.webhooks.record),
      );
    if (ctx.reply !== undefined) {
      ctx.reply.status = 202;
      if (acceptance.replayed) ctx.reply.headers.set('idempotent-replayed', 'true');
    }
    return {
      request_id: ctx.requestId,
      ingestion_id: ingestionIdOf(acceptance.ingestionId),
      source_event_id: acceptance.sourceEventId,
      outcome_label: input.outcome_label,
      status: 'ACCEPTED' as const,
    };
  });

/** The stored body was validated when it was accepted. */
const entitiesOfBody = (body: string, merchantSubject: string) =>
  entitiesOf(JSON.parse(body) as TransactionEvent, merchantSubject);
