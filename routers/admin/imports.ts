import { setImmediate as breathe } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { IMPORT } from '../../contract/imports.ts';
import { readImportLine, type ImportBounds } from '../../contract/import-line.ts';
import type { Db } from '../../ledger/database.ts';
import {
  findImport,
  findImportCredential,
  findOpenImport,
  insertImport,
  listImports,
  setImportTask,
  type HistoryImport,
} from '../../ledger/history-imports.ts';
import {
  addLines,
  countWaiting,
  readProblems,
  type RefusedLine,
  type WaitingLine,
} from '../../ledger/import-lines.ts';
import { readTask } from '../../ledger/tasks.ts';
import { router } from '../procedure.ts';
import type { Services } from '../services.ts';
import {
  DecimalId,
  IdCursor,
  Limit,
  SiteCode,
  UtcInstant,
  cursorOf,
  pageOf,
  toIso,
  toIsoOrNull,
  toPage,
} from './fields.ts';
import { findSite, lockSite } from './find-site.ts';
import { mutate } from './mutate.ts';
import {
  administratorProcedure,
  administratorProcedureTaking,
  viewerProcedure,
} from './procedures.ts';

const DAY_MS = 86_400_000;

/** Characters of one upload at most: its JSON stays well below the limit of a body. */
const MOST_CHARACTERS = 700_000;

/** Lines checked before whoever else waits for this process gets a turn. */
const LINES_AT_ONCE = 25;

const ImportOut = z.strictObject({
  import_id: DecimalId,
  site_code: SiteCode,
  state: z
    .enum(['UPLOADING', 'QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELED', 'DROPPED'])
    .meta({ description: 'DROPPED: nobody went on with it for a week' }),
  content_hash: z.string(),
  credential_id: DecimalId,
  lines: z.int().min(0).meta({ description: 'Lines received so far' }),
  refused_lines: z.int().min(0).meta({ description: 'Those of them that imports.problems lists' }),
  task_id: DecimalId.nullable(),
  created_by: z.string(),
  created_at: UtcInstant,
  ended_at: UtcInstant.nullable(),
});

const toImport = (known: HistoryImport): z.infer<typeof ImportOut> => ({
  import_id: String(known.id),
  site_code: known.siteCode,
  state:
    known.taskState ?? (known.endedAt === null ? ('UPLOADING' as const) : ('DROPPED' as const)),
  content_hash: known.contentHash,
  credential_id: String(known.credentialId),
  lines: known.lines,
  refused_lines: known.refused,
  task_id: known.taskId === null ? null : String(known.taskId),
  created_by: known.createdBy,
  created_at: toIso(known.createdAt),
  ended_at: toIsoOrNull(known.endedAt),
});

const ImportId = DecimalId.meta({ description: 'Id that imports.create answered' });

/** @throws TRPCError NOT_FOUND, always */
function refuseMissingImport(id: string): never {
  throw new TRPCError({
    code: 'NOT_FOUND',
    message: `There is no import ${id}; imports.list shows all.`,
  });
}

/** An import that still takes lines, locked. @throws TRPCError NOT_FOUND, CONFLICT */
async function lockUploading(db: Db, id: string): Promise<HistoryImport> {
  const known = (await findImport(db, BigInt(id), 'lock')) ?? refuseMissingImport(id);
  if (known.taskId !== null || known.endedAt !== null) {
    throw new TRPCError({
      code: 'CONFLICT',
      message: `Import ${id} takes no more lines; imports.status shows where it stands.`,
    });
  }
  return known;
}

/** Queues the task that brings an import into the ledger. */
async function begin(
  services: Services,
  db: Db,
  known: HistoryImport,
  by: string,
  now: number,
): Promise<string> {
  const taskId = await services.startTask(db, {
    kind: IMPORT,
    siteId: known.siteId,
    input: { import_id: String(known.id) },
    total: await countWaiting(db, known),
    by,
    at: now,
  });
  await setImportTask(db, known, taskId, now);
  return String(taskId);
}

const create = administratorProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode,
        content_hash: z
          .string()
          .regex(/^[0-9a-f]{64}$/, { error: 'must be 64 lower-case hex digits' })
          .meta({
            description:
              'SHA-256 of the content: an import of the same content goes on where it was cut off',
          }),
        credential_id: DecimalId.optional().meta({
          description:
            'Production credential that imported events name; the first of the Site unless given',
        }),
      })
      .meta({
        description:
          'Begins an import of past events and labels, or goes on with one; --file FILE uploads and starts it as well.',
      }),
  )
  .output(ImportOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const site = await lockSite(em, input.site_code);
      const db = em.getKysely();
      const open = await findOpenImport(db, site.id, input.content_hash);
      if (open !== undefined) return goOn(ctx.services, em, open, ctx.operator.name, now);
      const wanted = input.credential_id;
      const credentialId = await findImportCredential(
        db,
        site.id,
        wanted === undefined ? undefined : BigInt(wanted),
      );
      if (credentialId === undefined) {
        throw new TRPCError({
          code: 'PRECONDITION_FAILED',
          message:
            wanted === undefined
              ? `Site ${input.site_code} has no production credential that imported events could name; credentials.issue makes one.`
              : `Site ${input.site_code} has no production credential ${wanted}; credentials.list shows all.`,
        });
      }
      const id = await insertImport(db, {
        siteId: site.id,
        credentialId,
        contentHash: input.content_hash,
        by: ctx.operator.name,
        at: now,
      });
      const result = toImport((await findImport(db, id)) ?? refuseMissingImport(String(id)));
      return { result, siteCode: input.site_code, after: result };
    }),
  );

/** An import that was begun before: one whose task failed or was canceled is taken up again with what is left of it. */
async function goOn(
  services: Services,
  em: EntityManager,
  open: HistoryImport,
  by: string,
  now: number,
) {
  const db = em.getKysely();
  if (open.taskState === 'FAILED' || open.taskState === 'CANCELED') {
    await begin(services, db, open, by, now);
  }
  const result = toImport((await findImport(db, open.id)) ?? open);
  return { result, siteCode: open.siteCode, before: toImport(open), after: result };
}

interface CheckedLines {
  readonly count: number;
  readonly waiting: readonly WaitingLine[];
  readonly refused: readonly RefusedLine[];
}

/** Checks lines a few at a time, so that this process goes on answering meanwhile. */
async function checkLines(
  text: string,
  firstLine: number,
  bounds: ImportBounds,
): Promise<CheckedLines> {
  const lines = text.replace(/\n$/, '').split('\n');
  const waiting: WaitingLine[] = [];
  const refused: RefusedLine[] = [];
  for (const [index, content] of lines.entries()) {
    if (index % LINES_AT_ONCE === LINES_AT_ONCE - 1) await breathe();
    const line = firstLine + index;
    const read = readImportLine(content, bounds);
    if (read.kind === 'refused') refused.push({ line, problems: read.problems });
    else if (read.kind !== 'blank') {
      waiting.push({ line, at: read.at, isLabel: read.kind === 'label', body: read.body });
    }
  }
  return { count: lines.length, waiting, refused };
}

const LineNumber = z.int().min(1).max(1_000_000_000);

const append = administratorProcedureTaking('lines')
  .input(
    z
      .strictObject({
        import_id: ImportId,
        first_line: LineNumber.meta({ description: 'Number of the first of these lines, from 1' }),
        lines: z.string().min(1).max(MOST_CHARACTERS).meta({
          description:
            'Whole lines of JSON: events as POST /v1/transactions takes them, and labels {source_event_id, outcome_label, labelled_at}',
        }),
      })
      .meta({ description: 'Sends the next lines of an import; those that are wrong are listed.' }),
  )
  .output(ImportOut)
  .mutation(async ({ ctx, input, path }) => {
    const { import_id: id, first_line: firstLine } = input;
    const em = ctx.services.orm.em.fork();
    const seen = (await findImport(em.getKysely(), BigInt(id))) ?? refuseMissingImport(id);
    const site = await findSite(em, seen.siteCode);
    const checked = await checkLines(input.lines, firstLine, {
      customerType: site.customer_type,
      oldest:
        ctx.services.clock.now() -
        Math.min(
          ctx.services.payloadRetentionDays,
          site.payload_retention_days ?? ctx.services.payloadRetentionDays,
        ) *
          DAY_MS,
      newest: ctx.services.clock.now(),
    });
    return mutate(ctx, path, async (within, now) => {
      const db = within.getKysely();
      const known = await lockUploading(db, id);
      const isRepeat = firstLine + checked.count - 1 <= known.lines;
      if (!isRepeat && firstLine !== known.lines + 1) {
        throw new TRPCError({
          code: 'CONFLICT',
          message: `Import ${id} has ${known.lines} lines; the next one is ${known.lines + 1}.`,
        });
      }
      if (!isRepeat) {
        await addLines(db, known, checked.count, checked.waiting, checked.refused, now);
      }
      const result = toImport((await findImport(db, known.id)) ?? known);
      return {
        result,
        siteCode: known.siteCode,
        after: {
          import_id: id,
          first_line: firstLine,
          lines: result.lines,
          refused_lines: result.refused_lines,
        },
      };
    });
  });

const commit = administratorProcedure
  .input(
    z
      .strictObject({
        import_id: ImportId,
        lines: z
          .int()
          .min(0)
          .max(1_000_000_000)
          .meta({ description: 'How many lines there are in all' }),
      })
      .meta({
        description:
          'Starts bringing an import into the ledger, once all its lines were sent; tasks.status shows how far it is.',
      }),
  )
  .output(z.strictObject({ import_id: DecimalId, task_id: DecimalId, refused_lines: z.int() }))
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const db = em.getKysely();
      const { import_id: id, lines } = input;
      const known = await lockUploading(db, id);
      if (known.lines !== lines) {
        throw new TRPCError({
          code: 'PRECONDITION_FAILED',
          message: `Import ${id} has ${known.lines} lines of ${lines}; send the others first.`,
        });
      }
      const result = {
        import_id: id,
        task_id: await begin(ctx.services, db, known, ctx.operator.name, now),
        refused_lines: known.refused,
      };
      return { result, siteCode: known.siteCode, after: { ...result, lines } };
    }),
  );

const status = viewerProcedure
  .input(
    z
      .strictObject({ import_id: ImportId })
      .meta({ description: 'Shows how far an import is, and what became of its lines.' }),
  )
  .output(
    ImportOut.extend({
      done: z.int().min(0).meta({ description: 'Lines brought into the ledger so far' }),
      total: z.int().min(0).nullable(),
      result: z.json(),
      error: z.string().nullable(),
    }),
  )
  .query(async ({ ctx, input }) => {
    const db = ctx.services.orm.em.fork().getKysely();
    const known =
      (await findImport(db, BigInt(input.import_id))) ?? refuseMissingImport(input.import_id);
    const task = known.taskId === null ? undefined : await readTask(db, known.taskId);
    return {
      ...toImport(known),
      done: task?.done ?? 0,
      total: task?.total ?? null,
      result: (task?.result ?? null) as z.infer<ReturnType<typeof z.json>>,
      error: task?.error ?? null,
    };
  });

const list = viewerProcedure
  .input(
    z
      .strictObject({ site_code: SiteCode.optional(), cursor: IdCursor.optional(), limit: Limit })
      .meta({ description: 'Lists imports, newest first.' }),
  )
  .output(pageOf(ImportOut))
  .query(async ({ ctx, input: { site_code: siteCode, cursor, limit } }) => {
    const em = ctx.services.orm.em.fork();
    const siteId = siteCode === undefined ? undefined : (await findSite(em, siteCode)).id;
    const before = cursor === undefined ? undefined : BigInt(cursor);
    const rows = await listImports(em.getKysely(), siteId, { before, limit: limit + 1 });
    return toPage(rows, limit, toImport, ({ id }) => String(id));
  });

const problems = viewerProcedure
  .input(
    z
      .strictObject({
        import_id: ImportId,
        cursor: cursorOf(/^[1-9]\d{0,9}$/).optional(),
        limit: Limit,
      })
      .meta({
        description:
          'Lists the lines of an import that were refused: number, path and reason, never a value.',
      }),
  )
  .output(pageOf(z.strictObject({ line: z.int(), problems: z.array(z.string()) })))
  .query(async ({ ctx, input: { import_id: id, cursor, limit } }) => {
    const db = ctx.services.orm.em.fork().getKysely();
    const known = (await findImport(db, BigInt(id))) ?? refuseMissingImport(id);
    const rows = await readProblems(db, known, { after: Number(cursor ?? 0), limit: limit + 1 });
    return toPage(
      rows,
      limit,
      (row) => ({ line: row.line, problems: [...row.problems] }),
      ({ line }) => String(line),
    );
  });

/** Past events and labels on their way into a Site's ledger. */
export const imports = router({ create, append, commit, status, list, problems });
