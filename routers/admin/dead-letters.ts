import type { EntityManager } from '@mikro-orm/postgresql';
import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { IngestionId, ingestionIdOf, parseIngestionId } from '../../contract/primitives.ts';
import {
  countOpenDeadLetters,
  listOpenDeadLetters,
  resolveDeadLetters,
  type DeadLetterFilter,
  type DeadLetterPosition,
  type OpenDeadLetter,
} from '../../ledger/dead-letters.ts';
import { router } from '../procedure.ts';
import { Limit, SiteCode, UtcInstant, cursorOf, instantField, instantMs } from './fields.ts';
import { pageOf, statement, toIso, toPage } from './fields.ts';
import { findSite } from './find-site.ts';
import { mutate } from './mutate.ts';
import { operatorProcedure, viewerProcedure } from './procedures.ts';

/** Dead letters of one redrive at most: one transaction, and a load the workers take in stride. */
export const REDRIVE_LIMIT = 1_000;

const Cause = statement(200).meta({ description: 'Exactly as dead_letters.preview counts it' });

const Filter = z
  .strictObject({
    site_code: SiteCode.optional(),
    cause: Cause.optional(),
    from: instantField('Died at or after').optional(),
    to: instantField('Died before').optional(),
  })
  .meta({ description: 'Which open dead letters; {} is all of them' });

const DeadLetterOut = z.strictObject({
  ingestion_id: IngestionId,
  site_code: SiteCode,
  source_event_id: z.string(),
  cause: z.string(),
  attempts: z.int(),
  dead_at: UtcInstant,
});

const toDeadLetter = (row: OpenDeadLetter): z.infer<typeof DeadLetterOut> => ({
  ingestion_id: ingestionIdOf(row.ingestionId),
  site_code: row.siteCode,
  source_event_id: row.sourceEventId,
  cause: row.cause,
  attempts: row.attempts,
  dead_at: toIso(row.deadAt),
});

/** @throws TRPCError NOT_FOUND for an unknown Site: its filter must not read as "nothing is dead" */
async function filterOf(
  em: EntityManager,
  filter: z.infer<typeof Filter>,
): Promise<DeadLetterFilter> {
  const { site_code: siteCode, cause, from, to } = filter;
  return {
    siteId: siteCode === undefined ? undefined : (await findSite(em, siteCode)).id,
    cause,
    from: from === undefined ? undefined : instantMs(from),
    to: to === undefined ? undefined : instantMs(to),
  };
}

const positionOf = (cursor: string): DeadLetterPosition => {
  const [siteId = '0', ingestionId = '0', deadLetterId = '0'] = cursor.split('.');
  return {
    siteId: BigInt(siteId),
    ingestionId: BigInt(ingestionId),
    deadLetterId: BigInt(deadLetterId),
  };
};

const list = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode.optional(),
        cause: Cause.optional(),
        cursor: cursorOf(/^\d{1,18}\.\d{1,18}\.\d{1,18}$/).optional(),
        limit: Limit,
      })
      .meta({ description: 'Lists open dead letters: events whose evaluation has stopped.' }),
  )
  .output(pageOf(DeadLetterOut))
  .query(async ({ ctx, input: { cursor, limit, ...narrow } }) => {
    const em = ctx.services.orm.em.fork();
    const rows = await listOpenDeadLetters(em.getKysely(), await filterOf(em, narrow), {
      after: cursor === undefined ? undefined : positionOf(cursor),
      limit: limit + 1,
    });
    return toPage(
      rows,
      limit,
      toDeadLetter,
      (row) => `${row.siteId}.${row.ingestionId}.${row.deadLetterId}`,
    );
  });

const preview = viewerProcedure
  .input(
    z
      .strictObject({ filter: Filter })
      .meta({ description: 'Counts the open dead letters that a redrive would take, by cause.' }),
  )
  .output(
    z.strictObject({
      total: z.int(),
      causes: z.array(
        z.strictObject({
          cause: z.string(),
          count: z.int(),
          oldest_dead_at: UtcInstant,
          newest_dead_at: UtcInstant,
        }),
      ),
    }),
  )
  .query(async ({ ctx, input }) => {
    const em = ctx.services.orm.em.fork();
    const counts = await countOpenDeadLetters(em.getKysely(), await filterOf(em, input.filter));
    return {
      total: counts.reduce((sum, { count }) => sum + count, 0),
      causes: counts.map((row) => ({
        cause: row.cause,
        count: row.count,
        oldest_dead_at: toIso(row.oldestDeadAt),
        newest_dead_at: toIso(row.newestDeadAt),
      })),
    };
  });

const redrive = operatorProcedure
  .input(
    z
      .strictObject({
        ingestion_ids: z
          .array(IngestionId)
          .min(1)
          .max(REDRIVE_LIMIT)
          .optional()
          .meta({ description: 'Which ones, from dead_letters.list' }),
        filter: Filter.optional(),
        reason: statement(500).meta({ description: 'Why it should succeed now' }),
      })
      .meta({
        description: `Queues open dead letters for evaluation again, at most ${REDRIVE_LIMIT} per call.`,
      }),
  )
  .output(
    z.strictObject({
      redriven: z.int().meta({ description: 'Queued again by this call' }),
      skipped: z.array(IngestionId).meta({ description: 'Named ids without an open dead letter' }),
      remaining: z.int().meta({ description: 'Still open under the filter: call again' }),
    }),
  )
  .mutation(async ({ ctx, input, path }) => {
    const { ingestion_ids: named, filter, reason } = input;
    if ((named === undefined) === (filter === undefined)) {
      throw new TRPCError({
        code: 'BAD_REQUEST',
        message: 'Give either ingestion_ids or filter: one of them says what to redrive.',
      });
    }
    return mutate(ctx, path, async (em, now) => {
      const db = em.getKysely();
      // An id beyond 64 bits names nothing, as any other that is not stored.
      const ids = named?.map(parseIngestionId).filter((id) => id !== undefined);
      const selection = { ...(await filterOf(em, filter ?? {})), ingestionIds: ids };
      const by = ctx.operator.name;
      const resolution = { kind: 'REDRIVEN', reason, by, at: now } as const;
      const rows = await resolveDeadLetters(db, selection, resolution, REDRIVE_LIMIT);
      const redriven = new Set(rows.map((row) => ingestionIdOf(row.ingestionId)));
      const skipped = [...new Set(named)].filter((id) => !redriven.has(id));
      if (named !== undefined && rows.length === 0) {
        throw new TRPCError({
          code: 'NOT_FOUND',
          message: `${nameSome(skipped)} no open dead letter; dead_letters.list shows the open ones.`,
        });
      }
      const queued = rows.length === 0 ? 0 : await ctx.services.requeueEvaluations(db, rows);
      if (queued !== rows.length) {
        throw new Error(`${rows.length} dead letters redriven but ${queued} jobs queued`);
      }
      const left = await countOpenDeadLetters(db, selection);
      const remaining = left.reduce((sum, { count }) => sum + count, 0);
      return {
        result: { redriven: rows.length, skipped, remaining },
        siteCode: filter?.site_code ?? null,
        before: named === undefined ? { filter } : { ingestion_ids: named },
        after: { redriven: rows.length, remaining, reason, ingestion_ids: [...redriven] },
      };
    });
  });

const nameSome = (ids: readonly string[]): string => {
  const more = ids.length - 1;
  return more === 0 ? `${ids[0]} has` : `${ids[0]} and ${more} more have`;
};

/** Events whose automatic evaluation has stopped, and the way back. */
export const deadLetters = router({ list, preview, redrive });
