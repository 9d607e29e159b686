import { run, type Db } from './database.ts';
import { StateMoved } from './entity-states.ts';
import { bareArray, joinTexts, RECORD_SEPARATOR } from './joined-texts.ts';
import { compare } from './ordering.ts';
import { together } from './transactions.ts';

/** One result on its way into the ledger. `evaluatedAt` in ms since 1970 UTC. */
export interface NewEvaluation {
  readonly siteId: bigint;
  readonly ingestionId: bigint;
  readonly score: number;
  readonly level: string;
  readonly decision: string;
  readonly reasons: readonly string[];
  readonly ruleScores: Readonly<Record<string, number>>;
  readonly evaluatorVersion: string;
  readonly evaluatedAt: number;
  /** The features the judgement saw, as risk/ encodes them. */
  readonly features: string;
}

/**
 * Appends results and the features they came from. Needs an open transaction.
 *
 * @throws StateMoved when one of them has a result already: an evaluation happens once
 */
export async function recordEvaluations(
  db: Db,
  evaluations: readonly NewEvaluation[],
): Promise<void> {
  if (evaluations.length === 0) return;
  const ordered = [...evaluations].sort(
    (a, b) => compare(a.siteId, b.siteId) || compare(a.ingestionId, b.ingestionId),
  );
  const ids = [
    bareArray(ordered.map((evaluation) => evaluation.siteId)),
    bareArray(ordered.map((evaluation) => evaluation.ingestionId)),
    bareArray(ordered.map((evaluation) => new Date(evaluation.evaluatedAt).toISOString())),
  ];
  const results = run(
    db,
    `insert into evaluation (site_id, ingestion_id, evaluated_at, score, level, decision, reasons, rule_scores, evaluator_version)
     select site_id, ingestion_id, evaluated_at, score, level, decision, reasons::jsonb, rule_scores::jsonb, evaluator_version
     from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::smallint[], $5::text[], $6::text[],
       string_to_array($7::text, $10::text), string_to_array($8::text, $10::text), string_to_array($9::text, $10::text))
       as result (site_id, ingestion_id, evaluated_at, score, level, decision, reasons, rule_scores, evaluator_version)
     on conflict (site_id, ingestion_id) do nothing`,
    [
      ...ids,
      bareArray(ordered.map((evaluation) => evaluation.score)),
      bareArray(ordered.map((evaluation) => evaluation.level)),
      bareArray(ordered.map((evaluation) => evaluation.decision)),
      joinTexts(ordered.map((evaluation) => JSON.stringify(evaluation.reasons))),
      joinTexts(ordered.map((evaluation) => JSON.stringify(evaluation.ruleScores))),
      joinTexts(ordered.map((evaluation) => evaluation.evaluatorVersion)),
      RECORD_SEPARATOR,
    ],
  );
  const features = run(
    db,
    `insert into evaluation_features (site_id, ingestion_id, evaluated_at, features)
     select site_id, ingestion_id, evaluated_at, features
     from unnest($1::bigint[], $2::bigint[], $3::timestamptz[], string_to_array($4::text, $5::text))
       as seen (site_id, ingestion_id, evaluated_at, features)`,
    [...ids, joinTexts(ordered.map((evaluation) => evaluation.features)), RECORD_SEPARATOR],
  );
  const [{ affected }] = await together(results, features);
  if (affected !== ordered.length) throw new StateMoved();
}
