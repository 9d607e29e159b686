import { run, type Db } from './database.ts';
import { ALL_SITES } from './rule-sets.ts';
import { together } from './transactions.ts';

/** What a rule set in the shadow would have answered to one event, beside what was answered. */
export interface ShadowAnswer {
  readonly siteId: bigint;
  readonly ingestionId: bigint;
  /** The scope of the set: ALL_SITES or the Site's. */
  readonly setSiteId: bigint;
  readonly version: number;
  readonly answered: string;
  readonly proposed: string;
  readonly answeredScore: number;
  readonly proposedScore: number;
}

/** Events by what was answered and what would have been. */
export interface ShadowSum {
  readonly answered: string;
  readonly proposed: string;
  readonly events: number;
}

const HOUR_MS = 3_600_000;

/**
 * Adds what sets in the shadow would have answered, in the transaction of the results: sums of all events, and a row of
 * its own for each that it would have decided otherwise. Two statements, sent together.
 */
export async function recordShadowAnswers(
  db: Db,
  answers: readonly ShadowAnswer[],
  now: number,
): Promise<void> {
  if (answers.length === 0) return;
  const hour = new Date(Math.floor(now / HOUR_MS) * HOUR_MS).toISOString();
  const column = <T>(value: (answer: ShadowAnswer) => T): T[] => answers.map(value);
  const keys = [
    column(({ siteId }) => String(siteId)),
    column(({ setSiteId }) => String(setSiteId)),
    column(({ version }) => version),
    column(({ answered }) => answered),
    column(({ proposed }) => proposed),
  ];
  const sums = run(
    db,
    `insert into rule_shadow_hour as total (site_id, hour, set_site_id, version, answered, proposed, events)
     select site_id, $6::timestamptz, set_site_id, version, answered, proposed, count(*)
     from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[], $5::text[])
       as answer (site_id, set_site_id, version, answered, proposed)
     group by site_id, set_site_id, version, answered, proposed
     order by site_id, set_site_id, version, answered, proposed
     on conflict (site_id, hour, set_site_id, version, answered, proposed)
       do update set events = total.events + excluded.events`,
    [...keys, hour],
  );
  const different = answers.filter(({ answered, proposed }) => answered !== proposed);
  if (different.length === 0) {
    await sums;
    return;
  }
  const one = <T>(value: (answer: ShadowAnswer) => T): T[] => different.map(value);
  const differences = run(
    db,
    `insert into rule_shadow_difference (site_id, ingestion_id, evaluated_at, set_site_id, version, answered, proposed,
       answered_score, proposed_score)
     select site_id, ingestion_id, $9::timestamptz, set_site_id, version, answered, proposed, answered_score, proposed_score
     from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::text[], $6::text[], $7::smallint[], $8::smallint[])
       as answer (site_id, ingestion_id, set_site_id, version, answered, proposed, answered_score, proposed_score)`,
    [
      one(({ siteId }) => String(siteId)),
      one(({ ingestionId }) => String(ingestionId)),
      one(({ setSiteId }) => String(setSiteId)),
      one(({ version }) => version),
      one(({ answered }) => answered),
      one(({ proposed }) => proposed),
      one(({ answeredScore }) => answeredScore),
      one(({ proposedScore }) => proposedScore),
      new Date(now).toISOString(),
    ],
  );
  await together(sums, differences);
}

/** The set of a Site has judged nothing else; that of all Sites, every Site. */
const ofSite = (setSiteId: bigint): string => (setSiteId === ALL_SITES ? '' : 'and site_id = $1');

/** What a set in the shadow has said so far: of all Sites for a set of all Sites. */
export async function readShadowSums(
  db: Db,
  setSiteId: bigint,
  version: number,
): Promise<ShadowSum[]> {
  const { rows } = await run<{ answered: string; proposed: string; events: string }>(
    db,
    `select answered, proposed, sum(events) as events from rule_shadow_hour
     where set_site_id = $1 and version = $2 ${ofSite(setSiteId)}
     group by answered, proposed order by answered, proposed`,
    [setSiteId, version],
  );
  return rows.map((row) => ({ ...row, events: Number(row.events) }));
}

/** An event that a set in the shadow would have decided otherwise. */
export interface ShadowExample {
  readonly ingestionId: bigint;
  readonly answered: string;
  readonly proposed: string;
  readonly answeredScore: number;
  readonly proposedScore: number;
}

/** The latest such events, at most `limit`. */
export async function readShadowExamples(
  db: Db,
  setSiteId: bigint,
  version: number,
  limit: number,
): Promise<ShadowExample[]> {
  const { rows } = await run<{
    ingestion_id: string;
    answered: string;
    proposed: string;
    answered_score: number;
    proposed_score: number;
  }>(
    db,
    `select ingestion_id, answered, proposed, answered_score, proposed_score from rule_shadow_difference
     where set_site_id = $1 and version = $2 ${ofSite(setSiteId)}
     order by ingestion_id desc limit $3`,
    [setSiteId, version, limit],
  );
  return rows.map((row) => ({
    ingestionId: BigInt(row.ingestion_id),
    answered: row.answered,
    proposed: row.proposed,
    answeredScore: row.answered_score,
    proposedScore: row.proposed_score,
  }));
}
