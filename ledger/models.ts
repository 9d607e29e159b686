import { run, type Db } from './database.ts';
import type { JsonValue } from './operator-events.ts';

/** A learned model on its way into the ledger. */
export interface NewModel {
  readonly siteId: bigint;
  readonly featuresVersion: number;
  readonly settings: JsonValue;
  readonly metrics: JsonValue;
  /** Its text, as risk/ encodes it. */
  readonly forest: string;
  readonly contentHash: string;
  readonly by: string;
  /** ms since 1970 UTC. */
  readonly at: number;
}

/** A model without its text. */
export interface StoredModel {
  readonly siteId: bigint;
  readonly id: bigint;
  readonly featuresVersion: number;
  readonly settings: JsonValue;
  readonly metrics: JsonValue;
  readonly contentHash: string;
  readonly createdBy: string;
  readonly createdAt: number;
}

/** Which part a model plays. */
export type ModelRole = 'LIVE' | 'SHADOW';

/** A change of which model plays a part; model 0 is none. */
export interface NewModelRelease {
  readonly siteId: bigint;
  readonly role: ModelRole;
  readonly modelId: bigint;
  readonly kind: 'PUBLISH' | 'ROLLBACK' | 'SHADOW' | 'STOP_SHADOW';
  readonly by: string;
  readonly at: number;
}

/** How a Site's models are learned. */
export interface ModelSettings {
  /** Days after which a payment without a label counts as genuine. */
  readonly labelDelayDays: number;
  /** Days between scheduled trainings; 0 = only on demand. */
  readonly trainEveryDays: number;
  /** Days of payments that are learned from. */
  readonly historyDays: number;
}

/** What a Site has until it is configured. */
export const DEFAULT_MODEL_SETTINGS: ModelSettings = {
  labelDelayDays: 7,
  trainEveryDays: 7,
  historyDays: 28,
};

const iso = (at: number): string => new Date(at).toISOString();

/** Adds a model; returns its id. It judges nothing until it is released. */
export async function insertModel(db: Db, model: NewModel): Promise<bigint> {
  const { rows } = await run<{ id: string }>(
    db,
    `insert into model (site_id, features_version, settings, metrics, forest, content_hash, created_by, created_at)
     select $1::bigint, $2::integer, $3::jsonb, $4::jsonb, $5::text, $6::text, $7::text, $8::timestamptz
     returning id`,
    [
      model.siteId,
      model.featuresVersion,
      JSON.stringify(model.settings),
      JSON.stringify(model.metrics),
      model.forest,
      model.contentHash,
      model.by,
      iso(model.at),
    ],
  );
  return BigInt(rows[0]?.id ?? 0);
}

/** A model's text; undefined where the Site has no such model. */
export async function readForest(db: Db, siteId: bigint, id: bigint): Promise<string | undefined> {
  const { rows } = await run<{ forest: string }>(
    db,
    'select forest from model where site_id = $1 and id = $2',
    [siteId, id],
  );
  return rows[0]?.forest;
}

/** A Site's models, newest first, from before `before`. */
export async function listModels(
  db: Db,
  siteId: bigint,
  page: { readonly before: bigint | undefined; readonly limit: number },
): Promise<StoredModel[]> {
  const { rows } = await run<{
    site_id: string;
    id: string;
    features_version: number;
    settings: JsonValue;
    metrics: JsonValue;
    content_hash: string;
    created_by: string;
    created_at: string;
  }>(
    db,
    `select site_id, id, features_version, settings, metrics, content_hash, created_by,
       (extract(epoch from created_at) * 1000)::bigint as created_at
     from model where site_id = $1 and id < $2 order by id desc limit $3`,
    [siteId, page.before ?? 9_223_372_036_854_775_807n, page.limit],
  );
  return rows.map((row) => ({
    siteId: BigInt(row.site_id),
    id: BigInt(row.id),
    featuresVersion: row.features_version,
    settings: row.settings,
    metrics: row.metrics,
    contentHash: row.content_hash,
    createdBy: row.created_by,
    createdAt: Number(row.created_at),
  }));
}

/** One model of a Site; undefined where the Site has no such model. */
export async function findModel(
  db: Db,
  siteId: bigint,
  id: bigint,
): Promise<StoredModel | undefined> {
  const [model] = await listModels(db, siteId, { before: id + 1n, limit: 1 });
  return model?.id === id ? model : undefined;
}

/** Records a release; every worker follows it within about a second. */
export async function releaseModel(db: Db, release: NewModelRelease): Promise<void> {
  // Until the commit: a lower id that commits after a higher one was seen would never be followed.
  await run(db, `select pg_advisory_xact_lock(hashtextextended('model releases', 0))`);
  await run(
    db,
    `insert into model_release (site_id, role, model_id, kind, released_by, released_at)
     select $1::bigint, $2::text, $3::bigint, $4::text, $5::text, $6::timestamptz`,
    [release.siteId, release.role, release.modelId, release.kind, release.by, iso(release.at)],
  );
}

/** The models in force: of all Sites, or of one. Model 0 (none) is left out. */
export async function modelsInForce(
  db: Db,
  siteId?: bigint,
): Promise<{ readonly siteId: bigint; readonly role: ModelRole; readonly modelId: bigint }[]> {
  const { rows } = await run<{ site_id: string; role: ModelRole; model_id: string }>(
    db,
    `select * from (
       select distinct on (site_id, role) site_id, role, model_id from model_release
       where $1::bigint is null or site_id = $1::bigint
       order by site_id, role, id desc
     ) as latest where model_id <> 0`,
    [siteId ?? null],
  );
  return rows.map((row) => ({
    siteId: BigInt(row.site_id),
    role: row.role,
    modelId: BigInt(row.model_id),
  }));
}

/** A number that grows with every release of any Site. */
export async function latestRelease(db: Db): Promise<bigint> {
  const { rows } = await run<{ id: string | null }>(db, 'select max(id) as id from model_release');
  return BigInt(rows[0]?.id ?? 0);
}

/**
 * The model that was live before the one that is; 0n where that was none, undefined where nothing was ever live. After a
 * rollback it is the one before that again, so that rolling back twice goes two releases back.
 */
export async function modelBeforeLive(db: Db, siteId: bigint): Promise<bigint | undefined> {
  const { rows } = await run<{ model_id: string; kind: string }>(
    db,
    `select model_id, kind from model_release where site_id = $1 and role = 'LIVE' order by id`,
    [siteId],
  );
  const published: bigint[] = [];
  for (const row of rows) {
    if (row.kind === 'ROLLBACK') published.pop();
    else published.push(BigInt(row.model_id));
  }
  if (published.length === 0) return undefined;
  return published.at(-2) ?? 0n;
}

/** A Site's settings; the defaults where it has none of its own. */
export async function readModelSettings(db: Db, siteId: bigint): Promise<ModelSettings> {
  const { rows } = await run<{
    label_delay_days: number;
    train_every_days: number;
    history_days: number;
  }>(
    db,
    'select label_delay_days, train_every_days, history_days from model_settings where site_id = $1',
    [siteId],
  );
  const row = rows[0];
  if (row === undefined) return DEFAULT_MODEL_SETTINGS;
  return {
    labelDelayDays: row.label_delay_days,
    trainEveryDays: row.train_every_days,
    historyDays: row.history_days,
  };
}

/** Sets a Site's settings. */
export async function saveModelSettings(
  db: Db,
  siteId: bigint,
  settings: ModelSettings,
): Promise<void> {
  await run(
    db,
    `insert into model_settings (site_id, label_delay_days, train_every_days, history_days)
     select $1::bigint, $2::integer, $3::integer, $4::integer
     on conflict (site_id) do update set label_delay_days = excluded.label_delay_days,
       train_every_days = excluded.train_every_days, history_days = excluded.history_days`,
    [siteId, settings.labelDelayDays, settings.trainEveryDays, settings.historyDays],
  );
}

/**
 * Takes the Sites whose scheduled training is due, and notes that it was: of two workers asking at once only one gets a
 * Site. Only Sites with an outcome label are due.
 */
export async function takeDueTrainings(db: Db, now: number): Promise<bigint[]> {
  const { rows } = await run<{ site_id: string }>(
    db,
    `insert into model_settings as held (site_id, label_delay_days, train_every_days, history_days, last_trained_at)
     select site.id, $2::integer, $3::integer, $4::integer, $1::timestamptz
     from site
     left join model_settings known on known.site_id = site.id
     where coalesce(known.train_every_days, $3::integer) > 0
       and (known.last_trained_at is null
         or known.last_trained_at <= $1::timestamptz - make_interval(days => known.train_every_days))
       and exists (select 1 from outcome_label label where label.site_id = site.id)
     order by site.id
     on conflict (site_id) do update set last_trained_at = excluded.last_trained_at
       where held.last_trained_at is null
         or held.last_trained_at <= excluded.last_trained_at - make_interval(days => held.train_every_days)
     returning site_id`,
    [
      iso(now),
      DEFAULT_MODEL_SETTINGS.labelDelayDays,
      DEFAULT_MODEL_SETTINGS.trainEveryDays,
      DEFAULT_MODEL_SETTINGS.historyDays,
    ],
  );
  return rows.map((row) => BigInt(row.site_id));
}

/** What a model in the shadow said of one event. */
export interface ShadowScore {
  readonly siteId: bigint;
  readonly ingestionId: bigint;
  readonly modelId: bigint;
  readonly probability: number;
  /** What the live model said; null where none is live. */
  readonly liveProbability: number | null;
}

/** Appends what models in the shadow said, in the transaction of the results. */
export async function recordShadowScores(
  db: Db,
  scores: readonly ShadowScore[],
  evaluatedAt: number,
): Promise<void> {
  if (scores.length === 0) return;
  await run(
    db,
    `insert into model_shadow_score (site_id, ingestion_id, evaluated_at, model_id, probability, live_probability)
     select site_id, ingestion_id, $6::timestamptz, model_id, probability, live_probability
     from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::double precision[], $5::double precision[])
       as score (site_id, ingestion_id, model_id, probability, live_probability)`,
    [
      scores.map(({ siteId }) => String(siteId)),
      scores.map(({ ingestionId }) => String(ingestionId)),
      scores.map(({ modelId }) => String(modelId)),
      scores.map(({ probability }) => probability),
      scores.map(({ liveProbability }) => liveProbability),
      iso(evaluatedAt),
    ],
  );
}
