import { z } from 'zod';
import { Refusal } from '../../contract/errors.ts';
import { IngestionStatus } from '../../contract/ingestion.ts';
import { IngestionId, ingestionIdOf, parseIngestionId } from '../../contract/primitives.ts';
import { publicProcedure } from '../procedure.ts';
import { riskAnswer } from './risk-answer.ts';

/** GET /v1/ingestions/{ingestionId}: where one ingestion of the caller's Site stands. */
export const getIngestion = publicProcedure('read')
  .meta({
    openapi: {
      method: 'GET',
      path: '/v1/ingestions/{ingestionId}',
      operationId: 'getIngestion',
      summary: 'Read the status of an ingestion',
      tags: ['Ingestions'],
    },
  })
  .input(z.strictObject({ ingestionId: IngestionId }))
  .output(IngestionStatus)
  .query(async ({ ctx, input }) => {
    const { caller, services } = ctx;
    const id = parseIngestionId(input.ingestionId);
    const state =
      id === undefined || caller.environment === 'sandbox'
        ? undefined
        : await services.lookUps.byId({ siteId: caller.siteId, id });
    if (state === undefined) throw new Refusal('INGESTION_NOT_FOUND');
    return {
      request_id: ctx.requestId,
      ingestion_id: ingestionIdOf(state.ingestionId),
      source_event_id: state.sourceEventId,
      evaluation_status: state.status,
      received_at: new Date(state.receivedAt).toISOString(),
      risk: riskAnswer(state.risk),
    };
  });
