import type { EntityManager } from '@mikro-orm/postgresql';
import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { IngestionId, ingestionIdOf, parseIngestionId } from '../../contract/primitives.ts';
import type { Db } from '../../ledger/database.ts';
import {
  countOpenDeadLetters,
  listOpenDeadLetters,
  resolveDeadLetters,
  type DeadLetterFilter,
  type DeadLetterPosition,
  type OpenDeadLetter,
} from '../../ledger/dead-letters.ts';
import { router } from '../procedure.ts';
import {
  DecimalId,
  Limit,
  SiteCode,
  UtcInstant,
  cursorOf,
  instantField,
  instantMs,
} from './fields.ts';
import { pageOf, statement, toIso, toPage } from './fields.ts';
import { findSite } from './find-site.ts';
import { mutate, type AdminContext } from './mutate.ts';
import { operatorProcedure, viewerProcedure } from './procedures.ts';

/** Dead letters of one call at most: one transaction, and a load the workers take in stride. More become a task. */
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
  /** Where in our code the last attempt failed. */
  error_place: z.string().nullable(),
  dead_at: UtcInstant,
});

const toDeadLetter = (row: OpenDeadLetter): z.infer<typeof DeadLetterOut> => ({
  ingestion_id: ingestionIdOf(row.ingestionId),
  site_code: row.siteCode,
  source_event_id: row.sourceEventId,
  cause: row.cause,
  attempts: row.attempts,
  error_place: row.place,
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
  const [siteId = '0', ingestionId = '0'] = cursor.split('.');
  return { siteId: BigInt(siteId), ingestionId: BigInt(ingestionId) };
};

const list = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode.optional(),
        cause: Cause.optional(),
        cursor: cursorOf(/^\d{1,18}\.\d{1,18}$/).optional(),
        limit: Limit,
      })
      .meta({
        description:
          'Lists dead letters that wait for a decision: events whose evaluation has stopped.',
      }),
  )
  .output(pageOf(DeadLetterOut))
  .query(async ({ ctx, input: { cursor, limit, ...narrow } }) => {
    const em = ctx.services.orm.em.fork();
    const rows = await listOpenDeadLetters(em.getKysely(), await filterOf(em, narrow), {
      after: cursor === undefined ? undefined : positionOf(cursor),
      limit: limit + 1,
    });
    return toPage(rows, limit, toDeadLetter, (row) => `${row.siteId}.${row.ingestionId}`);
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

const RedriveOut = z.strictObject({
  redriven: z.int().meta({ description: 'Queued again by this call' }),
  skipped: z.array(IngestionId).meta({ description: 'Named ids without an open dead letter' }),
  remaining: z.int().meta({ description: 'Still open under the filter; the task takes them' }),
  task_id: DecimalId.nullable().meta({ description: 'For tasks.status, where they are many' }),
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
        description: `Queues open dead letters for evaluation again: up to ${REDRIVE_LIMIT} at once, more as a task.`,
      }),
  )
  .output(RedriveOut)
  .mutation(async ({ ctx, input, path }) => {
    const { ingestion_ids: named, filter, reason } = input;
    if ((named === undefined) === (filter === undefined)) {
      throw new TRPCError({
        code: 'BAD_REQUEST',
        message: 'Give either ingestion_ids or filter: one of them says what to redrive.',
      });
    }
    return mutate<z.infer<typeof RedriveOut>>(ctx, path, async (em, now) => {
      const db = em.getKysely();
      const selection = { ...(await filterOf(em, filter ?? {})), ingestionIds: idsOf(named) };
      const matching = named === undefined ? await countAll(db, selection) : 0;
      if (matching > REDRIVE_LIMIT) {
        const task_id = String(await startRedrive(ctx, db, { selection, reason, now, matching }));
        return {
          result: { redriven: 0, skipped: [], remaining: matching, task_id },
          siteCode: filter?.site_code ?? null,
          before: { filter },
          after: { task_id, matching, reason },
        };
      }
      const by = ctx.operator.name;
      const resolution = { kind: 'REDRIVEN', reason, by, at: now } as const;
      const rows = await resolveDeadLetters(db, selection, resolution, REDRIVE_LIMIT);
      const redriven = new Set(rows.map((row) => ingestionIdOf(row.ingestionId)));
      const skipped = [...new Set(named)].filter((id) => !redriven.has(id));
      if (named !== undefined && rows.length === 0) throw noneOpen(skipped);
      const queued = rows.length === 0 ? 0 : await ctx.services.requeueEvaluations(db, rows);
      if (queued !== rows.length) {
        throw new Error(`${rows.length} dead letters redriven but ${queued} jobs queued`);
      }
      return {
        result: { redriven: rows.length, skipped, remaining: 0, task_id: null },
        siteCode: filter?.site_code ?? null,
        before: named === undefined ? { filter } : { ingestion_ids: named },
        after: { redriven: rows.length, reason, ingestion_ids: [...redriven] },
      };
    });
  });

const discard = operatorProcedure
  .input(
    z
      .strictObject({
        ingestion_ids: z
          .array(IngestionId)
          .min(1)
          .max(REDRIVE_LIMIT)
          .meta({ description: 'Which ones, from dead_letters.list' }),
        reason: statement(500).meta({ description: 'Why they will never be evaluated' }),
      })
      .meta({
        description:
          'Gives dead letters up: they are listed no more, their events stay in DLQ. It cannot be undone.',
      }),
  )
  .output(
    z.strictObject({
      discarded: z.int().meta({ description: 'Given up by this call' }),
      skipped: z.array(IngestionId).meta({ description: 'Named ids without an open dead letter' }),
    }),
  )
  .mutation(async ({ ctx, input: { ingestion_ids: named, reason }, path }) =>
    mutate(ctx, path, async (em, now) => {
      const resolution = { kind: 'DISCARDED', reason, by: ctx.operator.name, at: now } as const;
      const rows = await resolveDeadLetters(
        em.getKysely(),
        { ingestionIds: idsOf(named) },
        resolution,
        REDRIVE_LIMIT,
      );
      const discarded = new Set(rows.map((row) => ingestionIdOf(row.ingestionId)));
      const skipped = [...new Set(named)].filter((id) => !discarded.has(id));
      if (rows.length === 0) throw noneOpen(skipped);
      return {
        result: { discarded: rows.length, skipped },
        siteCode: null,
        before: { ingestion_ids: named },
        after: { discarded: rows.length, reason, ingestion_ids: [...discarded] },
      };
    }),
  );

/** An id beyond 64 bits names nothing, as any other that is not stored. */
const idsOf = (named: readonly string[] | undefined): bigint[] | undefined =>
  named?.map(parseIngestionId).filter((id) => id !== undefined);

const countAll = async (db: Db, selection: DeadLetterFilter): Promise<number> =>
  (await countOpenDeadLetters(db, selection)).reduce((sum, { count }) => sum + count, 0);

/** Leaves a bulk redrive to a task: what has died until now, and nothing that dies meanwhile. */
function startRedrive(
  { services, operator }: AdminContext,
  db: Db,
  bulk: {
    readonly selection: DeadLetterFilter;
    readonly reason: string;
    readonly now: number;
    readonly matching: number;
  },
): Promise<bigint> {
  const { siteId, cause, from, to } = bulk.selection;
  return services.startTask(db, {
    kind: 'dead_letters.redrive',
    siteId: siteId ?? 0n,
    input: {
      site_id: siteId?.toString() ?? null,
      cause: cause ?? null,
      from: from ?? null,
      to: Math.min(to ?? Infinity, bulk.now + 1),
      reason: bulk.reason,
    },
    total: bulk.matching,
    by: operator.name,
    at: bulk.now,
  });
}

const noneOpen = (skipped: readonly string[]): TRPCError =>
  new TRPCError({
    code: 'NOT_FOUND',
    message: `${nameSome(skipped)} no open dead letter; dead_letters.list shows the open ones.`,
  });

const nameSome = (ids: readonly string[]): string => {
  const more = ids.length - 1;
  return more === 0 ? `${ids[0]} has` : `${ids[0]} and ${more} more have`;
};

/** Events whose automatic evaluation has stopped, and the way back. */
export const deadLetters = router({ list, preview, redrive, discard });
