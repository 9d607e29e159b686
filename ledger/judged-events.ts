import { run, type Db } from './database.ts';
import { IS_FRAUD } from './latest-label.ts';
import { placeAfter, placeBefore, type LedgerPlace } from './ledger-place.ts';

/** A judged event with all that it was judged from. Times in ms since 1970 UTC. */
export interface JudgedRow {
  readonly ingestionId: bigint;
  /** When it happened, as judgement takes it. */
  readonly at: number;
  readonly amountMinor: number;
  readonly currency: string;
  readonly score: number;
  readonly level: string;
  readonly decision: string;
  readonly reasons: readonly string[];
  readonly ruleScores: Readonly<Record<string, number>>;
  readonly evaluatorVersion: string;
  /** As risk/ encodes them; null once their partition was dropped. */
  readonly features: string | null;
  /** Null once its partition was dropped. */
  readonly body: string | null;
  /** By its latest outcome label; null without one. */
  readonly isFraud: boolean | null;
}

/** Which judged events of a Site are meant: accepted at or after `from` and before `to`. */
export interface JudgedPeriod {
  readonly siteId: bigint;
  readonly from: number;
  readonly to: number;
}

/** How many events a period has. */
export async function countJudged(db: Db, wanted: JudgedPeriod): Promise<number> {
  const { rows } = await run<{ count: number }>(
    db,
    `select count(*)::int as count from ingestion event
     join evaluation result on result.site_id = event.site_id and result.ingestion_id = event.id
     where event.site_id = $1 and event.received_at >= $2::timestamptz and event.received_at < $3::timestamptz`,
    [wanted.siteId, new Date(wanted.from).toISOString(), new Date(wanted.to).toISOString()],
  );
  return rows[0]?.count ?? 0;
}

/** A page of judged events; the next one begins after `next`, which is undefined at the end. */
export interface JudgedPage {
  readonly rows: JudgedRow[];
  readonly next: LedgerPlace | undefined;
}

/**
 * The next judged events of a period in the order of acceptance: of `limit` accepted ones those that have a result.
 *
 * @param after  where the page before ended; undefined for the first
 */
export async function readJudged(
  db: Db,
  wanted: JudgedPeriod,
  limit: number,
  after: LedgerPlace = placeBefore(wanted.from),
): Promise<JudgedPage> {
  const { rows: found } = await run<{
    id: string;
    received_at: string;
    at: string;
    amount_minor: string;
    currency: string;
    score: number | null;
    level: string;
    decision: string;
    reasons: string[];
    rule_scores: Record<string, number>;
    evaluator_version: string;
    features: string | null;
    body: string | null;
    is_fraud: boolean | null;
  }>(
    db,
    `select event.id, event.received_at::text as received_at,
       (extract(epoch from least(event.occurred_at, event.received_at)) * 1000)::bigint as at,
       event.amount_minor, event.currency, result.score, result.level, result.decision, result.reasons, result.rule_scores,
       result.evaluator_version, seen.features, payload.body,
       ${IS_FRAUD} as is_fraud
     from (
       select site_id, id, occurred_at, received_at, amount_minor, currency from ingestion
       where site_id = $1 and (received_at, id) > ($2::timestamptz, $3::bigint) and received_at < $4::timestamptz
       order by received_at, id limit $5
     ) event
     left join evaluation result on result.site_id = event.site_id and result.ingestion_id = event.id
     left join evaluation_features seen on seen.site_id = result.site_id and seen.ingestion_id = result.ingestion_id
       and seen.evaluated_at = result.evaluated_at
     left join ingestion_payload payload on payload.site_id = event.site_id and payload.ingestion_id = event.id
       and payload.received_at = event.received_at
     order by event.received_at, event.id`,
    [wanted.siteId, after.receivedAt, after.id, new Date(wanted.to).toISOString(), limit],
  );
  const rows = found.flatMap(({ score, ...row }) => (score === null ? [] : [{ ...row, score }]));
  return {
    next: placeAfter(found, limit),
    rows: rows.map((row) => ({
      ingestionId: BigInt(row.id),
      at: Number(row.at),
      amountMinor: Number(row.amount_minor),
      currency: row.currency,
      score: row.score,
      level: row.level,
      decision: row.decision,
      reasons: row.reasons,
      ruleScores: row.rule_scores,
      evaluatorVersion: row.evaluator_version,
      features: row.features,
      body: row.body,
      isFraud: row.is_fraud,
    })),
  };
}
