import { run, type Db } from './database.ts';
import { IS_FRAUD } from './latest-label.ts';

/** A live payment that a model in the shadow has scored, with all that it was judged from. Times in ms since 1970 UTC. */
export interface ShadowPayment {
  readonly ingestionId: bigint;
  /** When it happened, as judgement takes it. */
  readonly at: number;
  readonly evaluatedAt: number;
  /** What the model in the shadow said; 0 to 1. */
  readonly probability: number;
  /** What the live model said; null where none was live. */
  readonly liveProbability: number | null;
  readonly score: number;
  readonly decision: string;
  readonly ruleScores: Readonly<Record<string, number>>;
  readonly evaluatorVersion: string;
  /** As risk/ encodes them; null once their partition was dropped. */
  readonly features: string | null;
  /** Null once its partition was dropped. */
  readonly body: string | null;
  /** By its latest outcome label; null without one. */
  readonly isFraud: boolean | null;
}

/** Which of them are meant: scored by one model at or after `from` and before `to`. */
export interface ShadowPeriod {
  readonly siteId: bigint;
  readonly modelId: bigint;
  readonly from: number;
  readonly to: number;
}

const parametersOf = ({ siteId, modelId, from, to }: ShadowPeriod) => [
  siteId,
  modelId,
  new Date(from).toISOString(),
  new Date(to).toISOString(),
];

/** When a model was first in the shadow, ms since 1970 UTC; undefined where it never was. */
export async function firstInShadow(
  db: Db,
  siteId: bigint,
  modelId: bigint,
): Promise<number | undefined> {
  const { rows } = await run<{ at: string | null }>(
    db,
    `select (extract(epoch from min(released_at)) * 1000)::bigint as at from model_release
     where site_id = $1 and role = 'SHADOW' and model_id = $2`,
    [siteId, modelId],
  );
  const at = rows[0]?.at ?? null;
  return at === null ? undefined : Number(at);
}

/** How many payments of a period the model has scored. */
export async function countShadowPayments(db: Db, wanted: ShadowPeriod): Promise<number> {
  const { rows } = await run<{ count: number }>(
    db,
    `select count(*)::int as count from model_shadow_score
     where site_id = $1 and model_id = $2 and evaluated_at >= $3::timestamptz and evaluated_at < $4::timestamptz`,
    parametersOf(wanted),
  );
  return rows[0]?.count ?? 0;
}

/** The `limit` of them before an id, the latest first; fewer only at the end. Reads one partition where the period is a day. */
export async function readShadowPayments(
  db: Db,
  wanted: ShadowPeriod,
  before: bigint,
  limit: number,
): Promise<ShadowPayment[]> {
  const { rows } = await run<{
    id: string;
    at: string;
    evaluated_at: string;
    probability: number;
    live_probability: number | null;
    score: number;
    decision: string;
    rule_scores: Record<string, number>;
    evaluator_version: string;
    features: string | null;
    body: string | null;
    is_fraud: boolean | null;
  }>(
    db,
    `select event.id, (extract(epoch from least(event.occurred_at, event.received_at)) * 1000)::bigint as at,
       (extract(epoch from shadow.evaluated_at) * 1000)::bigint as evaluated_at, shadow.probability, shadow.live_probability, result.score, result.decision, result.rule_scores,
       result.evaluator_version, seen.features, payload.body,
       ${IS_FRAUD} as is_fraud
     from (
       select site_id, ingestion_id, evaluated_at, probability, live_probability from model_shadow_score
       where site_id = $1 and model_id = $2 and evaluated_at >= $3::timestamptz and evaluated_at < $4::timestamptz
         and ingestion_id < $5
       order by ingestion_id desc limit $6
     ) shadow
     join ingestion event on event.site_id = shadow.site_id and event.id = shadow.ingestion_id
     join evaluation result on result.site_id = shadow.site_id and result.ingestion_id = shadow.ingestion_id
     left join evaluation_features seen on seen.site_id = shadow.site_id and seen.ingestion_id = shadow.ingestion_id
       and seen.evaluated_at = shadow.evaluated_at
     left join ingestion_payload payload on payload.site_id = event.site_id and payload.ingestion_id = event.id
       and payload.received_at = event.received_at
     order by event.id desc`,
    [...parametersOf(wanted), before, limit],
  );
  return rows.map((row) => ({
    ingestionId: BigInt(row.id),
    at: Number(row.at),
    evaluatedAt: Number(row.evaluated_at),
    probability: row.probability,
    liveProbability: row.live_probability,
    score: row.score,
    decision: row.decision,
    ruleScores: row.rule_scores,
    evaluatorVersion: row.evaluator_version,
    features: row.features,
    body: row.body,
    isFraud: row.is_fraud,
  }));
}
