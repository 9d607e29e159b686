import { run, type Db } from './database.ts';
import { IS_FRAUD } from './latest-label.ts';

/** A judged payment that may be learned from. Times in ms since 1970 UTC. */
export interface TrainingCandidate {
  readonly ingestionId: bigint;
  /** When it happened, as features see it. */
  readonly at: number;
  readonly evaluatedAt: string;
  /** By its latest outcome label: confirmed as fraud; without one, or with FALSE_POSITIVE, genuine. */
  readonly isFraud: boolean;
  /** What was answered: the live model's probability, else a hundredth of the score of the rules. */
  readonly answered: number;
}

/** Where reading has got to; undefined where there is nothing more. */
export interface CandidatePage {
  readonly rows: TrainingCandidate[];
  readonly next: bigint | undefined;
}

const PAGE = 20_000;

/**
 * Reads a page of a Site's judged payments that happened in a period, by id. Latest labels count, as in the reports.
 *
 * @param after  id that the page before ended with; undefined for the first
 */
export async function readCandidates(
  db: Db,
  siteId: bigint,
  period: { readonly from: number; readonly to: number },
  after: bigint | undefined,
): Promise<CandidatePage> {
  const { rows } = await run<{
    id: string;
    at: string;
    evaluated_at: string;
    is_fraud: boolean;
    answered: number;
  }>(
    db,
    `select event.id, (extract(epoch from least(event.occurred_at, event.received_at)) * 1000)::bigint as at,
       to_char(result.evaluated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as evaluated_at,
       coalesce(${IS_FRAUD}, false) as is_fraud,
       coalesce((result.rule_scores ->> 'model_probability')::double precision, result.score / 100.0::double precision) as answered
     from ingestion event
     join evaluation result on result.site_id = event.site_id and result.ingestion_id = event.id
     where event.site_id = $1 and event.id > $2 and event.event_type = 'PAYMENT_AUTH'
       and event.received_at >= $3::timestamptz and least(event.occurred_at, event.received_at) >= $3::timestamptz
       and least(event.occurred_at, event.received_at) < $4::timestamptz
     order by event.id
     limit ${PAGE}`,
    [siteId, after ?? -1n, new Date(period.from).toISOString(), new Date(period.to).toISOString()],
  );
  return {
    rows: rows.map((row) => ({
      ingestionId: BigInt(row.id),
      at: Number(row.at),
      evaluatedAt: row.evaluated_at,
      isFraud: row.is_fraud,
      answered: row.answered,
    })),
    next: rows.length < PAGE ? undefined : BigInt(rows.at(-1)?.id ?? 0),
  };
}

/** The stored features of some evaluations, by ingestion; one whose features were dropped is absent. */
export async function readFeatures(
  db: Db,
  siteId: bigint,
  evaluations: readonly Pick<TrainingCandidate, 'ingestionId' | 'evaluatedAt'>[],
): Promise<Map<bigint, string>> {
  const { rows } = await run<{ ingestion_id: string; features: string }>(
    db,
    `select seen.ingestion_id, seen.features
     from unnest($2::bigint[], $3::timestamptz[]) as wanted (ingestion_id, evaluated_at)
     join evaluation_features seen on seen.site_id = $1 and seen.ingestion_id = wanted.ingestion_id
       and seen.evaluated_at = wanted.evaluated_at`,
    [
      siteId,
      evaluations.map(({ ingestionId }) => String(ingestionId)),
      evaluations.map(({ evaluatedAt }) => evaluatedAt),
    ],
  );
  return new Map(rows.map((row) => [BigInt(row.ingestion_id), row.features]));
}

/**
 * Which payments belong to the same card, or customer where there is no card: a digest of what names it, made in the
 * database, so that the text itself goes nowhere. One without a name, or whose body was dropped, is absent.
 */
export async function readCards(
  db: Db,
  siteId: bigint,
  ingestionIds: readonly bigint[],
): Promise<Map<bigint, string>> {
  const { rows } = await run<{ ingestion_id: string; card: string }>(
    db,
    `select payload.ingestion_id, md5(named.text) as card
     from ingestion event
     join ingestion_payload payload on payload.site_id = event.site_id and payload.ingestion_id = event.id
       and payload.received_at = event.received_at
     cross join lateral (
       select coalesce(payload.body::json -> 'payment_method' ->> 'token', payload.body::json -> 'customer' ->> 'customer_id') as text
     ) as named
     where event.site_id = $1 and event.id = any($2::bigint[]) and named.text is not null`,
    [siteId, ingestionIds.map(String)],
  );
  return new Map(rows.map((row) => [BigInt(row.ingestion_id), row.card]));
}
