import { plainArray } from './array-literals.ts';
import { run, type Db } from './database.ts';
import { IS_FRAUD } from './latest-label.ts';
import { placeAfter, placeBefore, type LedgerPlace } from './ledger-place.ts';

/** A judged payment that may be learned from. Times in ms since 1970 UTC. */
export interface TrainingCandidate {
  readonly ingestionId: bigint;
  /** When it happened, as features see it. */
  readonly at: number;
  readonly evaluatedAt: number;
  /** By its latest outcome label: confirmed as fraud; without one, or with FALSE_POSITIVE, genuine. */
  readonly isFraud: boolean;
  /** What was answered: the live model's probability, else a hundredth of the score of the rules. */
  readonly answered: number;
}

/** Where reading has got to; undefined where there is nothing more. */
export interface CandidatePage {
  readonly rows: TrainingCandidate[];
  readonly next: LedgerPlace | undefined;
}

/** Short enough for the database to turn to others in between. */
const PAGE = 5_000;

/**
 * Reads a page of a Site's judged payments that happened in a period, in the order of acceptance. Latest labels count, as
 * in the reports. The page is cut before anything is looked up or left out: the planner cannot tell how many rows of a
 * period are left, and would read all of it for every page.
 *
 * @param after  where the page before ended; undefined for the first
 */
export async function readCandidates(
  db: Db,
  siteId: bigint,
  period: { readonly from: number; readonly to: number },
  after: LedgerPlace = placeBefore(period.from),
  limit = PAGE,
): Promise<CandidatePage> {
  const { rows } = await run<{
    id: string;
    received_at: string;
    at: string;
    evaluated_at: string | null;
    is_fraud: boolean | null;
    answered: number;
  }>(
    db,
    `select event.id, event.received_at::text as received_at, (extract(epoch from event.at) * 1000)::bigint as at,
       (extract(epoch from result.evaluated_at) * 1000)::bigint as evaluated_at,
       case when result.evaluated_at is not null then ${IS_FRAUD} end as is_fraud,
       coalesce((result.rule_scores ->> 'model_probability')::double precision, result.score / 100.0::double precision) as answered
     from (
       select site_id, id, received_at, event_type, least(occurred_at, received_at) as at from ingestion
       where site_id = $1 and (received_at, id) > ($2::timestamptz, $3::bigint)
       order by received_at, id limit $6
     ) event
     left join evaluation result on result.site_id = event.site_id and result.ingestion_id = event.id
       and event.event_type = 'PAYMENT_AUTH' and event.at >= $4::timestamptz and event.at < $5::timestamptz
     order by event.received_at, event.id`,
    [
      siteId,
      after.receivedAt,
      after.id,
      new Date(period.from).toISOString(),
      new Date(period.to).toISOString(),
      limit,
    ],
  );
  return {
    rows: rows.flatMap((row) =>
      row.evaluated_at === null
        ? []
        : [
            {
              ingestionId: BigInt(row.id),
              at: Number(row.at),
              evaluatedAt: Number(row.evaluated_at),
              isFraud: row.is_fraud ?? false,
              answered: row.answered,
            },
          ],
    ),
    next: placeAfter(rows, limit),
  };
}

/** Names evaluations column by column; times in ms since 1970 UTC. */
export interface EvaluationColumns {
  readonly ids: BigInt64Array;
  readonly evaluatedAt: Float64Array;
}

/** The stored features of some evaluations, in their order; undefined where they were dropped. */
export async function readFeatures(
  db: Db,
  siteId: bigint,
  { ids, evaluatedAt }: EvaluationColumns,
): Promise<(string | undefined)[]> {
  const { rows } = await run<{ place: number; features: string }>(
    db,
    `select wanted.place::int as place, seen.features
     from unnest($2::bigint[], $3::timestamptz[]) with ordinality as wanted (ingestion_id, evaluated_at, place)
     join evaluation_features seen on seen.site_id = $1 and seen.ingestion_id = wanted.ingestion_id
       and seen.evaluated_at = wanted.evaluated_at`,
    [siteId, plainArray(ids), Array.from(evaluatedAt, (at) => new Date(at).toISOString())],
  );
  const features: (string | undefined)[] = Array.from(ids, () => undefined);
  for (const row of rows) features[row.place - 1] = row.features;
  return features;
}

/**
 * Which payments belong to the same card, or customer where there is no card, in the order of the ids: a digest of what
 * names it, made in the database, so that the text itself goes nowhere. Empty for one without a name, or whose body was
 * dropped.
 */
export async function readCards(db: Db, siteId: bigint, ids: BigInt64Array): Promise<string[]> {
  const { rows } = await run<{ place: number; card: string }>(
    db,
    `select wanted.place::int as place, md5(named.text) as card
     from unnest($2::bigint[]) with ordinality as wanted (ingestion_id, place)
     join ingestion event on event.site_id = $1 and event.id = wanted.ingestion_id
     join ingestion_payload payload on payload.site_id = event.site_id and payload.ingestion_id = event.id
       and payload.received_at = event.received_at
     cross join lateral (
       select coalesce(payload.body::json -> 'payment_method' ->> 'token', payload.body::json -> 'customer' ->> 'customer_id') as text
     ) as named
     where named.text is not null`,
    [siteId, plainArray(ids)],
  );
  const cards = Array.from(ids, () => '');
  for (const row of rows) cards[row.place - 1] = row.card;
  return cards;
}
