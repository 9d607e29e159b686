import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import {
  boundedText,
  IngestionId,
  ingestionIdOf,
  parseIngestionId,
} from '../../contract/primitives.ts';
import { readDeliveries, readExplained, readPayload, readStory } from '../../ledger/explain.ts';
import {
  ForeignCursor,
  SEARCH_CURSOR,
  searchIngestions,
  type FoundIngestion,
} from '../../ledger/search-ingestions.ts';
import { router } from '../procedure.ts';
import { EvaluationOut, explainEvaluation, StoryOut, tellStory } from './explain.ts';
import { DecimalId, Limit, SiteCode, UtcInstant, cursorOf, instantField } from './fields.ts';
import { instantMs, pageOf, statement, toIso, toIsoOrNull } from './fields.ts';
import { findSite } from './find-site.ts';
import { mutate } from './mutate.ts';
import { administratorProcedure, viewerProcedure } from './procedures.ts';

const Status = z.enum(['PENDING', 'PROCESSING', 'RETRY_SCHEDULED', 'SUCCEEDED', 'DLQ']);

/** What a search shows of an ingestion: ids, times and the result; no field of its payload. */
const FoundOut = z.strictObject({
  ingestion_id: IngestionId,
  site_code: SiteCode,
  source_event_id: z.string(),
  received_at: UtcInstant,
  status: Status,
  score: z.int().nullable(),
  level: z.string().nullable(),
  decision: z.string().nullable(),
  evaluated_at: UtcInstant.nullable(),
  credential_id: DecimalId,
});

const toFound = (row: FoundIngestion): z.infer<typeof FoundOut> => ({
  ingestion_id: ingestionIdOf(row.ingestionId),
  site_code: row.siteCode,
  source_event_id: row.sourceEventId,
  received_at: toIso(row.receivedAt),
  status: row.status,
  score: row.score,
  level: row.level,
  decision: row.decision,
  evaluated_at: toIsoOrNull(row.evaluatedAt),
  credential_id: String(row.credentialId),
});

const search = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode.optional(),
        status: Status.optional().meta({
          description: 'Waiting ones are found by their job, the one queued last first',
        }),
        source_event_id: boundedText(1, 120)
          .optional()
          .meta({ description: 'The id of the event, or the one that its tid replaced' }),
        from: instantField('Received at or after').optional(),
        to: instantField('Received before').optional(),
        cursor: cursorOf(SEARCH_CURSOR).optional(),
        limit: Limit,
      })
      .meta({
        description:
          'Finds ingestions, newest first. A page may be short and have a next one: go on while there is a cursor.',
      }),
  )
  .output(pageOf(FoundOut))
  .query(async ({ ctx, input }) => {
    const em = ctx.services.orm.em.fork();
    const { site_code: siteCode, status, source_event_id: sourceEventId, cursor, limit } = input;
    const filter = {
      siteId: siteCode === undefined ? undefined : (await findSite(em, siteCode)).id,
      status,
      sourceEventId,
      from: input.from === undefined ? undefined : instantMs(input.from),
      to: input.to === undefined ? undefined : instantMs(input.to),
    };
    try {
      const page = await searchIngestions(em.getKysely(), filter, { after: cursor, limit });
      return { items: page.items.map(toFound), next_cursor: page.next ?? null };
    } catch (error: unknown) {
      if (!(error instanceof ForeignCursor)) throw error;
      throw new TRPCError({
        code: 'BAD_REQUEST',
        message:
          'The input is wrong: cursor: must be the next_cursor of a page of the same search.',
      });
    }
  });

const IngestionIdIn = IngestionId.meta({ description: 'Id from an acceptance or a search' });

/** @throws TRPCError NOT_FOUND, always */
function refuseMissing(id: string): never {
  throw new TRPCError({
    code: 'NOT_FOUND',
    message: `There is no ingestion ${id}; ingestions.search finds those that are stored.`,
  });
}

/** An id beyond 64 bits names nothing, as any other that is not stored. @throws TRPCError NOT_FOUND */
const idOf = (id: string): bigint => parseIngestionId(id) ?? refuseMissing(id);

const JobOut = z.strictObject({
  state: z.string(),
  /** How often a worker has taken it. */
  claims: z.int(),
  created_at: UtcInstant,
  start_after: UtcInstant,
  started_at: UtcInstant.nullable(),
  completed_at: UtcInstant.nullable(),
});

const DeliveryOut = z.strictObject({
  event_id: z.string(),
  endpoint_id: DecimalId,
  state: z.string(),
  attempts: z.int(),
  next_attempt_at: UtcInstant.nullable(),
  failure: z.string().nullable(),
});

const explain = viewerProcedure
  .input(
    z.strictObject({ ingestion_id: IngestionIdIn }).meta({
      description:
        'Tells the whole story of one ingestion: acceptance, attempts, features, rules, model, labels, webhooks.',
    }),
  )
  .output(
    z.strictObject({
      ingestion_id: IngestionId,
      site_code: SiteCode,
      source_event_id: z.string(),
      status: Status,
      story: z.array(StoryOut),
      job: JobOut.nullable(),
      evaluation: EvaluationOut.nullable(),
      deliveries: z.array(DeliveryOut),
    }),
  )
  .query(async ({ ctx: { services }, input: { ingestion_id: id } }) => {
    const db = services.orm.em.fork().getKysely();
    const ingestion = (await readExplained(db, idOf(id))) ?? refuseMissing(id);
    const rules =
      ingestion.risk === null
        ? undefined
        : await services.rulesOf(ingestion.siteId, ingestion.risk.evaluatorVersion);
    const deliveries = await readDeliveries(db, ingestion);
    const { job } = ingestion;
    return {
      ingestion_id: id,
      site_code: ingestion.siteCode,
      source_event_id: ingestion.sourceEventId,
      status: ingestion.status,
      story: tellStory(ingestion, await readStory(db, ingestion)),
      job:
        job === null
          ? null
          : {
              state: job.state,
              claims: job.claims,
              created_at: toIso(job.createdAt),
              start_after: toIso(job.startAfter),
              started_at: toIsoOrNull(job.startedAt),
              completed_at: toIsoOrNull(job.completedAt),
            },
      evaluation: explainEvaluation(ingestion, rules),
      deliveries: deliveries.map((delivery) => ({
        event_id: delivery.eventId,
        endpoint_id: String(delivery.endpointId),
        state: delivery.state,
        attempts: delivery.attempts,
        next_attempt_at: toIsoOrNull(delivery.nextAttemptAt),
        failure: delivery.failure,
      })),
    };
  });

const payload = administratorProcedure
  .input(
    z
      .strictObject({
        ingestion_id: IngestionIdIn,
        reason: statement(500).meta({ description: 'Why it must be looked at; it is audited' }),
      })
      .meta({
        description:
          'Shows the accepted body of one ingestion. Every look is audited, with its reason.',
      }),
  )
  .output(
    z.strictObject({
      ingestion_id: IngestionId,
      site_code: SiteCode,
      received_at: UtcInstant,
      payload: z.record(z.string(), z.json()),
    }),
  )
  .mutation(async ({ ctx, input: { ingestion_id: id, reason }, path }) =>
    mutate(ctx, path, async (em) => {
      const stored = (await readPayload(em.getKysely(), idOf(id))) ?? refuseMissing(id);
      if (stored.body === null) {
        throw new TRPCError({
          code: 'NOT_FOUND',
          message: `The payload of ${id} was dropped after its retention; only its hash is left.`,
        });
      }
      return {
        result: {
          ingestion_id: id,
          site_code: stored.siteCode,
          received_at: toIso(stored.receivedAt),
          payload: z.record(z.string(), z.json()).parse(JSON.parse(stored.body)),
        },
        siteCode: stored.siteCode,
        // The look is what is audited; what was seen stays out.
        after: { ingestion_id: id, reason },
      };
    }),
  );

/** The ledger for operators: search, one event's whole story, and, for administrators with a reason, its body. */
export const ingestions = router({ search, explain, payload });
