import type { EntityManager } from '@mikro-orm/postgresql';
import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { COMPARE, type CompareInput } from '../../contract/comparison.ts';
import { TRAIN, trainInput } from '../../contract/training.ts';
import type { Db } from '../../ledger/database.ts';
import {
  findModel,
  listModels,
  modelBeforeLive,
  modelsInForce,
  readModelSettings,
  releaseModel,
  saveModelSettings,
  type ModelRole,
  type StoredModel,
} from '../../ledger/models.ts';
import { firstInShadow } from '../../ledger/shadow-payments.ts';
import { FEATURES_VERSION } from '../../risk/index.ts';
import { router } from '../procedure.ts';
import {
  DecimalId,
  IdCursor,
  Limit,
  SiteCode,
  UtcInstant,
  instantField,
  instantMs,
  pageOf,
  toIso,
  toPage,
} from './fields.ts';
import { findSite, lockSite } from './find-site.ts';
import { mutate } from './mutate.ts';
import { administratorProcedure, operatorProcedure, viewerProcedure } from './procedures.ts';
import { refusal } from './refusal.ts';

/** The figures that a publication is decided by. */
const Ranking = z.object({
  auc_roc: z.number(),
  average_precision: z.number(),
  card_precision_100: z.number(),
});
const Metrics = Ranking.extend({ answered: Ranking });

const ModelOut = z.strictObject({
  model_id: DecimalId,
  role: z.enum(['LIVE', 'SHADOW', 'LIVE_AND_SHADOW', 'NONE']),
  features_version: z.int(),
  usable: z.boolean().meta({ description: 'False: learned from other features than today' }),
  metrics: z.json(),
  settings: z.json(),
  content_hash: z.string(),
  created_by: z.string(),
  created_at: UtcInstant,
});

const InForce = z.strictObject({
  site_code: SiteCode,
  live_model_id: DecimalId.nullable(),
  shadow_model_id: DecimalId.nullable(),
});

const SettingsOut = z.strictObject({
  site_code: SiteCode,
  label_delay_days: z.int(),
  train_every_days: z.int(),
  history_days: z.int(),
});

const ModelId = DecimalId.meta({ description: 'Id of a model of the Site, as models.list shows' });

type InForceIds = Readonly<Partial<Record<ModelRole, bigint>>>;

async function inForceOf(db: Db, siteId: bigint): Promise<InForceIds> {
  const found = await modelsInForce(db, siteId);
  return Object.fromEntries(found.map(({ role, modelId }) => [role, modelId]));
}

function roleOf(id: bigint, { LIVE, SHADOW }: InForceIds): z.infer<typeof ModelOut>['role'] {
  if (id === LIVE) return id === SHADOW ? 'LIVE_AND_SHADOW' : 'LIVE';
  return id === SHADOW ? 'SHADOW' : 'NONE';
}

const toModel = (model: StoredModel, ids: InForceIds): z.infer<typeof ModelOut> => ({
  model_id: String(model.id),
  role: roleOf(model.id, ids),
  features_version: model.featuresVersion,
  usable: model.featuresVersion === FEATURES_VERSION,
  metrics: model.metrics as z.infer<ReturnType<typeof z.json>>,
  settings: model.settings as z.infer<ReturnType<typeof z.json>>,
  content_hash: model.contentHash,
  created_by: model.createdBy,
  created_at: toIso(model.createdAt),
});

const toInForce = (siteCode: string, { LIVE, SHADOW }: InForceIds): z.infer<typeof InForce> => ({
  site_code: siteCode,
  live_model_id: LIVE === undefined ? null : String(LIVE),
  shadow_model_id: SHADOW === undefined ? null : String(SHADOW),
});

/** @throws TRPCError NOT_FOUND where the Site has no such model */
async function demandModel(db: Db, siteId: bigint, id: string): Promise<StoredModel> {
  const model = await findModel(db, siteId, BigInt(id));
  if (model !== undefined) return model;
  throw new TRPCError({
    code: 'NOT_FOUND',
    message: `The Site has no model ${id}; models.list shows its models.`,
  });
}

/** @throws TRPCError NOT_FOUND where the Site has no such model, PRECONDITION_FAILED where it cannot judge any more */
async function usableModel(db: Db, siteId: bigint, id: string): Promise<StoredModel> {
  const model = await demandModel(db, siteId, id);
  if (model.featuresVersion !== FEATURES_VERSION) {
    throw refusal(
      `Model ${id} was learned from features of version ${model.featuresVersion}, today they are of version ${FEATURES_VERSION}; models.train makes one.`,
    );
  }
  return model;
}

/** Changes which model plays a part, under the Site's lock, and answers what is in force then. */
async function release(
  em: EntityManager,
  siteCode: string,
  change: (
    db: Db,
    siteId: bigint,
    before: InForceIds,
  ) => Promise<{
    readonly role: ModelRole;
    readonly modelId: bigint;
    readonly kind: 'PUBLISH' | 'ROLLBACK' | 'SHADOW' | 'STOP_SHADOW';
  }>,
  { by, now }: { readonly by: string; readonly now: number },
) {
  const site = await lockSite(em, siteCode);
  const db = em.getKysely();
  const before = await inForceOf(db, site.id);
  await releaseModel(db, { siteId: site.id, ...(await change(db, site.id, before)), by, at: now });
  const after = toInForce(siteCode, await inForceOf(db, site.id));
  return { result: after, siteCode, before: toInForce(siteCode, before), after };
}

const train = administratorProcedure
  .input(
    z.strictObject({ site_code: SiteCode }).meta({
      description:
        'Learns a model of a Site from its outcome labels, as a task; it judges nothing until it is published.',
    }),
  )
  .output(z.strictObject({ task_id: DecimalId }))
  .mutation(async ({ ctx, input: { site_code: siteCode }, path }) =>
    mutate(ctx, path, async (em, now) => {
      const site = await findSite(em, siteCode);
      const taskId = await ctx.services.startTask(em.getKysely(), {
        kind: TRAIN,
        siteId: site.id,
        input: trainInput(now),
        by: ctx.operator.name,
        at: now,
      });
      const result = { task_id: String(taskId) };
      return { result, siteCode, after: result };
    }),
  );

const configure = administratorProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode,
        label_delay_days: z
          .int()
          .min(0)
          .max(90)
          .optional()
          .meta({ description: 'Days after which a payment without a label counts as genuine' }),
        train_every_days: z
          .int()
          .min(0)
          .max(90)
          .optional()
          .meta({ description: 'Days between scheduled trainings; 0 = on demand only' }),
        history_days: z
          .int()
          .min(7)
          .max(400)
          .optional()
          .meta({ description: 'Days of payments that are learned from' }),
      })
      .meta({ description: 'Sets how the models of a Site are learned; what is left out stays.' }),
  )
  .output(SettingsOut)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em) => {
      const { site_code: siteCode } = input;
      const site = await lockSite(em, siteCode);
      const db = em.getKysely();
      const before = await readModelSettings(db, site.id);
      const after = {
        labelDelayDays: input.label_delay_days ?? before.labelDelayDays,
        trainEveryDays: input.train_every_days ?? before.trainEveryDays,
        historyDays: input.history_days ?? before.historyDays,
      };
      await saveModelSettings(db, site.id, after);
      const toFields = ({ labelDelayDays, trainEveryDays, historyDays }: typeof after) => ({
        label_delay_days: labelDelayDays,
        train_every_days: trainEveryDays,
        history_days: historyDays,
      });
      return {
        result: { site_code: siteCode, ...toFields(after) },
        siteCode,
        before: toFields(before),
        after: toFields(after),
      };
    }),
  );

const shadow = administratorProcedure
  .input(
    z.strictObject({ site_code: SiteCode, model_id: ModelId }).meta({
      description: 'Lets a model score live traffic beside the live one, without any effect.',
    }),
  )
  .output(InForce)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, (em, now) =>
      release(
        em,
        input.site_code,
        async (db, siteId) => {
          const model = await usableModel(db, siteId, input.model_id);
          return { role: 'SHADOW', modelId: model.id, kind: 'SHADOW' };
        },
        { by: ctx.operator.name, now },
      ),
    ),
  );

const stopShadow = administratorProcedure
  .input(
    z
      .strictObject({ site_code: SiteCode })
      .meta({ description: 'Ends the trial of the model in the shadow.' }),
  )
  .output(InForce)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, (em, now) =>
      release(
        em,
        input.site_code,
        (_db, _siteId, before) => {
          if (before.SHADOW === undefined) throw refusal('No model is in the shadow.');
          return Promise.resolve({ role: 'SHADOW', modelId: 0n, kind: 'STOP_SHADOW' });
        },
        { by: ctx.operator.name, now },
      ),
    ),
  );

const compare = operatorProcedure
  .input(
    z
      .strictObject({
        site_code: SiteCode,
        model_id: ModelId,
        since: instantField(
          'Payments judged from then on; left out: since it was first in the shadow',
        ).optional(),
      })
      .meta({
        description:
          'Compares a model in the shadow with what was answered on the same live payments, as a task: ranking, calibration, changed decisions.',
      }),
  )
  .output(z.strictObject({ task_id: DecimalId }))
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, async (em, now) => {
      const { model_id: modelId, since, site_code: siteCode } = input;
      const site = await findSite(em, siteCode);
      const db = em.getKysely();
      const { id } = await demandModel(db, site.id, modelId);
      const began = await firstInShadow(db, site.id, id);
      if (began === undefined) {
        throw refusal(`Model ${modelId} was never in the shadow; models.shadow tries it.`);
      }
      const from = since === undefined ? began : Math.max(began, instantMs(since));
      if (from > now) {
        throw new TRPCError({
          code: 'BAD_REQUEST',
          message: 'The input is wrong: since: must not be in the future.',
        });
      }
      const task: CompareInput = { model_id: modelId, from, to: now };
      const taskId = await ctx.services.startTask(db, {
        kind: COMPARE,
        siteId: site.id,
        input: task,
        by: ctx.operator.name,
        at: now,
      });
      const result = { task_id: String(taskId) };
      return { result, siteCode, after: { ...result, ...task } };
    }),
  );

const publish = administratorProcedure
  .input(
    z.strictObject({ site_code: SiteCode, model_id: ModelId }).meta({
      description:
        'Makes a model the live one; refused where it ranks worse than what was answered in its validation period.',
    }),
  )
  .output(InForce)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, (em, now) =>
      release(
        em,
        input.site_code,
        async (db, siteId, before) => {
          const model = await usableModel(db, siteId, input.model_id);
          if (model.id === before.LIVE) throw refusal(`Model ${input.model_id} is live already.`);
          refuseWorse(model);
          return { role: 'LIVE', modelId: model.id, kind: 'PUBLISH' };
        },
        { by: ctx.operator.name, now },
      ),
    ),
  );

/** The answers given at the time are the fair opponent: they had not seen the outcomes either. */
function refuseWorse({ id, metrics }: StoredModel): void {
  const read = Metrics.safeParse(metrics);
  if (!read.success) throw refusal(`Model ${id} has no metrics to judge it by.`);
  const { average_precision: own, answered } = read.data;
  if (own < answered.average_precision) {
    throw refusal(
      `Model ${id} has an average precision of ${own.toFixed(3)} where the answers given had ${answered.average_precision.toFixed(3)}; it is not published.`,
    );
  }
}

const rollback = administratorProcedure
  .input(
    z.strictObject({ site_code: SiteCode }).meta({
      description: 'Makes the model live that was live before, or none where that was none.',
    }),
  )
  .output(InForce)
  .mutation(async ({ ctx, input, path }) =>
    mutate(ctx, path, (em, now) =>
      release(
        em,
        input.site_code,
        async (db, siteId) => {
          const modelId = await modelBeforeLive(db, siteId);
          if (modelId === undefined) throw refusal('No model was ever live.');
          return { role: 'LIVE', modelId, kind: 'ROLLBACK' };
        },
        { by: ctx.operator.name, now },
      ),
    ),
  );

const list = viewerProcedure
  .input(
    z
      .strictObject({ site_code: SiteCode, cursor: IdCursor.optional(), limit: Limit })
      .meta({ description: 'Lists the models of a Site with their metrics, newest first.' }),
  )
  .output(pageOf(ModelOut))
  .query(async ({ ctx, input: { site_code: siteCode, cursor, limit } }) => {
    const em = ctx.services.orm.em.fork();
    const site = await findSite(em, siteCode);
    const db = em.getKysely();
    const before = cursor === undefined ? undefined : BigInt(cursor);
    const rows = await listModels(db, site.id, { before, limit: limit + 1 });
    const ids = await inForceOf(db, site.id);
    return toPage(
      rows,
      limit,
      (model) => toModel(model, ids),
      (model) => String(model.id),
    );
  });

const settings = viewerProcedure
  .input(
    z
      .strictObject({ site_code: SiteCode })
      .meta({ description: 'Shows how the models of a Site are learned.' }),
  )
  .output(SettingsOut)
  .query(async ({ ctx, input: { site_code: siteCode } }) => {
    const em = ctx.services.orm.em.fork();
    const site = await findSite(em, siteCode);
    const found = await readModelSettings(em.getKysely(), site.id);
    return {
      site_code: siteCode,
      label_delay_days: found.labelDelayDays,
      train_every_days: found.trainEveryDays,
      history_days: found.historyDays,
    };
  });

/** Models learned from outcome labels: champion and challenger, and the way back. */
export const models = router({
  train,
  configure,
  shadow,
  stop_shadow: stopShadow,
  compare,
  publish,
  rollback,
  list,
  settings,
});
