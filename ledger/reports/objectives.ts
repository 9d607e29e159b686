import { run, type Db } from '../database.ts';
import { periodParameters, type ReportPeriod } from './period.ts';
import { EVALUATION, RESULT_LIMIT_SECONDS, RESULT_SECONDS, resultClass } from './result-times.ts';

/** What the service's objectives are measured by; events, requests and deliveries, all counts. */
export interface ObjectiveCounts {
  /** Submissions that were accepted, and those answered 5xx. What a caller did wrong (4xx) counts for neither. */
  readonly submissions: { readonly good: number; readonly bad: number };
  /** Results within and past five minutes; events that still wait and are older than that are among the late ones. */
  readonly results: { readonly good: number; readonly bad: number };
  /** An upper end, in seconds, of the time within which 95 % of the results came; null without results, Infinity: open. */
  readonly p95AtMostSeconds: number | null;
  /** Deliveries that a receiver took, and those given up. */
  readonly webhooks: { readonly good: number; readonly bad: number };
}

/** Adds up what a period's objectives are measured by. `overdue`: events that wait now and are past the limit already. */
export async function readObjectives(
  db: Db,
  period: ReportPeriod,
  overdue: number,
): Promise<ObjectiveCounts> {
  const parameters = periodParameters(period);
  const where = 'site_id = $1::bigint and hour >= $2::timestamptz and hour < $3::timestamptz';
  const { rows } = await run<{ operation: string; outcome: string; count: string }>(
    db,
    `select operation, outcome, sum(count) as count from service_hour
     where ${where} and operation in ('submitTransaction', '${EVALUATION}') group by 1, 2`,
    parameters,
  );
  const { rows: hooks } = await run<{ good: string; bad: string }>(
    db,
    `select coalesce(sum(webhooks_delivered), 0) as good, coalesce(sum(webhooks_failed), 0) as bad
     from report_hour where ${where}`,
    parameters,
  );
  const sum = (operation: string, matches: (outcome: string) => boolean): number =>
    rows
      .filter((row) => row.operation === operation && matches(row.outcome))
      .reduce((total, row) => total + Number(row.count), 0);
  const classes = RESULT_SECONDS.map((end) => ({
    end,
    count: sum(EVALUATION, (outcome) => outcome === resultClass(end)),
  }));
  const good = classes
    .filter(({ end }) => end <= RESULT_LIMIT_SECONDS)
    .reduce((total, { count }) => total + count, 0);
  const all = classes.reduce((total, { count }) => total + count, 0);
  return {
    submissions: {
      good: sum('submitTransaction', (outcome) => outcome.startsWith('2')),
      bad: sum('submitTransaction', (outcome) => outcome.startsWith('5')),
    },
    results: { good, bad: all - good + overdue },
    p95AtMostSeconds: percentileClass(classes, 0.95),
    webhooks: { good: Number(hooks[0]?.good ?? 0), bad: Number(hooks[0]?.bad ?? 0) },
  };
}

function percentileClass(
  classes: readonly { readonly end: number; readonly count: number }[],
  share: number,
): number | null {
  const all = classes.reduce((total, { count }) => total + count, 0);
  if (all === 0) return null;
  let below = 0;
  for (const { end, count } of classes) {
    below += count;
    if (below >= share * all) return end;
  }
  return Infinity;
}
