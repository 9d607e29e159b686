import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { cancelTask, listTasks, readTask, type TaskView } from '../../ledger/tasks.ts';
import { router } from '../procedure.ts';
import { DecimalId, IdCursor, Limit, SiteCode, UtcInstant, pageOf, statement } from './fields.ts';
import { toIso, toIsoOrNull, toPage } from './fields.ts';
import { findSite } from './find-site.ts';
import { mutate } from './mutate.ts';
import { operatorProcedure, viewerProcedure } from './procedures.ts';

const State = z.enum(['QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELED']);

/** Long work as operators see it. `done` and `total` count whatever its kind works through. */
const TaskOut = z.strictObject({
  task_id: DecimalId,
  kind: z.string(),
  site_code: z.string().nullable(),
  state: State,
  done: z.int().min(0),
  total: z.int().min(0).nullable(),
  input: z.json(),
  result: z.json(),
  error: z.string().nullable(),
  created_by: z.string(),
  created_at: UtcInstant,
  started_at: UtcInstant.nullable(),
  updated_at: UtcInstant,
  finished_at: UtcInstant.nullable(),
});

const toTask = (view: TaskView): z.infer<typeof TaskOut> => ({
  task_id: String(view.id),
  kind: view.kind,
  site_code: view.siteCode,
  state: view.state,
  done: view.done,
  total: view.total,
  input: view.input as z.infer<ReturnType<typeof z.json>>,
  result: view.result as z.infer<ReturnType<typeof z.json>>,
  error: view.error,
  created_by: view.createdBy,
  created_at: toIso(view.createdAt),
  started_at: toIsoOrNull(view.startedAt),
  updated_at: toIso(view.updatedAt),
  finished_at: toIsoOrNull(view.finishedAt),
});

const TaskIdIn = DecimalId.meta({ description: 'Id that the call which started it answered' });

/** @throws TRPCError NOT_FOUND, always */
function refuseMissingTask(id: string): never {
  throw new TRPCError({
    code: 'NOT_FOUND',
    message: `There is no task ${id}; tasks.list shows all.`,
  });
}

const status = viewerProcedure
  .input(
    z
      .strictObject({ task_id: TaskIdIn })
      .meta({ description: 'Shows how far a task is, and how it ended.' }),
  )
  .output(TaskOut)
  .query(async ({ ctx, input }) => {
    const db = ctx.services.orm.em.fork().getKysely();
    const view = await readTask(db, BigInt(input.task_id));
    return view === undefined ? refuseMissingTask(input.task_id) : toTask(view);
  });

const list = viewerProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode.optional(),
        kind: z
          .string()
          .regex(/^[a-z_]{1,40}(\.[a-z_]{1,40})?$/, { error: 'must be such as imports.create' })
          .optional()
          .meta({ description: 'What it does, such as dead_letters.redrive' }),
        state: State.optional().meta({ description: 'Where it stands' }),
        cursor: IdCursor.optional(),
        limit: Limit,
      })
      .meta({ description: 'Lists tasks, newest first.' }),
  )
  .output(pageOf(TaskOut))
  .query(async ({ ctx, input: { site_code: siteCode, kind, state, cursor, limit } }) => {
    const em = ctx.services.orm.em.fork();
    const siteId = siteCode === undefined ? undefined : (await findSite(em, siteCode)).id;
    const before = cursor === undefined ? undefined : BigInt(cursor);
    const rows = await listTasks(
      em.getKysely(),
      { siteId, kind, state },
      { before, limit: limit + 1 },
    );
    return toPage(rows, limit, toTask, (row) => String(row.id));
  });

const cancel = operatorProcedure
  .input(
    z
      .strictObject({
        task_id: TaskIdIn,
        reason: statement(500).meta({ description: 'Why it must not go on' }),
      })
      .meta({ description: 'Stops a task; what it has achieved so far stays.' }),
  )
  .output(TaskOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const db = em.getKysely();
      const id = BigInt(input.task_id);
      const former = await cancelTask(db, id, now);
      if (former === undefined) refuseMissingTask(input.task_id);
      if (former !== 'QUEUED' && former !== 'RUNNING') {
        throw new TRPCError({
          code: 'CONFLICT',
          message: `Task ${input.task_id} is ${former} already; there is nothing to stop.`,
        });
      }
      const view = await readTask(db, id);
      if (view === undefined) refuseMissingTask(input.task_id);
      return {
        result: toTask(view),
        siteCode: view.siteCode,
        before: { task_id: input.task_id, state: former },
        after: { task_id: input.task_id, state: view.state, reason: input.reason, done: view.done },
      };
    }),
  );

/** Long work that other procedures started: how far it is, how it ended, and a way to stop it. */
export const tasks = router({ status, list, cancel });
