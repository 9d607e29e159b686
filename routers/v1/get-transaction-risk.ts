import { z } from 'zod';
import { Refusal } from '../../contract/errors.ts';
import { TransactionRiskStatus } from '../../contract/ingestion.ts';
import { ingestionIdOf, SourceEventId } from '../../contract/primitives.ts';
import { publicProcedure } from '../procedure.ts';
import { riskAnswer } from './risk-answer.ts';

/** GET /v1/transactions/{sourceEventId}/risk: the result of one transaction of the caller's Site. */
export const getTransactionRisk = publicProcedure('read')
  .meta({
    openapi: {
      method: 'GET',
      path: '/v1/transactions/{sourceEventId}/risk',
      operationId: 'getTransactionRisk',
      summary: 'Read the risk of a transaction',
      tags: ['Transactions'],
    },
  })
  .input(z.strictObject({ sourceEventId: SourceEventId }))
  .output(TransactionRiskStatus)
  .query(async ({ ctx, input }) => {
    const { caller, services } = ctx;
    const state =
      caller.environment === 'sandbox'
        ? undefined
        : await services.lookUps.bySourceEventId({
            siteId: caller.siteId,
            id: input.sourceEventId,
          });
    if (state === undefined) throw new Refusal('TRANSACTION_NOT_FOUND');
    return {
      request_id: ctx.requestId,
      ingestion_id: ingestionIdOf(state.ingestionId),
      source_event_id: state.sourceEventId,
      evaluation_status: state.status,
      risk: riskAnswer(state.risk),
    };
  });
