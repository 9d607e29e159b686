import { run, type Db } from '../database.ts';
import { periodParameters, type ReportPeriod } from './period.ts';

/** Events of one cohort: judged on one UTC day (`day` in ms since 1970), by the label each of them got last. */
export interface CohortDay {
  readonly day: number;
  readonly events: number;
  readonly fraud: number;
  readonly falsePositive: number;
}

/** Hits of one rule among the events of one cohort. */
export interface RuleDay extends CohortDay {
  readonly ruleId: string;
}

/** Events by score over a period, lowest score first; scores that no event had are left out. */
export interface ScoreCount extends Omit<CohortDay, 'day'> {
  readonly score: number;
}

const IN_PERIOD = `site_id = $1::bigint and day >= $2::timestamptz and day < $3::timestamptz`;

const countsOf = (row: Record<string, string>) => ({
  events: Number(row['events']),
  fraud: Number(row['fraud']),
  falsePositive: Number(row['false_positive']),
});

/** All judged events by day. */
export async function readCohorts(db: Db, period: ReportPeriod): Promise<CohortDay[]> {
  const { rows } = await run<Record<string, string>>(
    db,
    `select (extract(epoch from day) * 1000)::bigint as day, sum(events) as events, sum(fraud) as fraud,
       sum(false_positive) as false_positive
     from report_score_day where ${IN_PERIOD} group by report_score_day.day`,
    periodParameters(period),
  );
  return rows.map((row) => ({ day: Number(row['day']), ...countsOf(row) }));
}

/** The hits of every rule by day. */
export async function readRuleDays(db: Db, period: ReportPeriod): Promise<RuleDay[]> {
  const { rows } = await run<Record<string, string>>(
    db,
    `select (extract(epoch from day) * 1000)::bigint as day, rule_id, hits as events, fraud, false_positive
     from report_rule_day where ${IN_PERIOD}`,
    periodParameters(period),
  );
  return rows.map((row) => ({
    ruleId: String(row['rule_id']),
    day: Number(row['day']),
    ...countsOf(row),
  }));
}

/** How many events had which score. */
export async function readScores(db: Db, period: ReportPeriod): Promise<ScoreCount[]> {
  const { rows } = await run<Record<string, string>>(
    db,
    `select score, sum(events) as events, sum(fraud) as fraud, sum(false_positive) as false_positive
     from report_score_day where ${IN_PERIOD} group by score order by score`,
    periodParameters(period),
  );
  return rows.map((row) => ({ score: Number(row['score']), ...countsOf(row) }));
}
