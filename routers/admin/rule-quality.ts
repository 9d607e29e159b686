import type { CohortDay, RuleDay } from '../../ledger/reports/quality.ts';

const DAY_MS = 86_400_000;

/** Cohorts by the age of their events: labels come late (a chargeback after weeks), so the young ones look too good. */
export const COHORTS = ['up to 7 days', '8 to 30 days', '31 to 90 days', 'over 90 days'] as const;

/** One of {@link COHORTS}. */
export type Cohort = (typeof COHORTS)[number];

/** The cohort of a UTC day of judgement. Times in ms since 1970 UTC. */
export function cohortOf(day: number, now: number): Cohort {
  const days = (now - day) / DAY_MS;
  if (days < 8) return COHORTS[0];
  if (days < 31) return COHORTS[1];
  return days < 91 ? COHORTS[2] : COHORTS[3];
}

/** A share, 0 to 1; null where there is nothing to share. */
export const ratio = (part: number, whole: number): number | null =>
  whole === 0 ? null : part / whole;

interface Counts {
  events: number;
  fraud: number;
  falsePositive: number;
}

/**
 * Precision and recall of each rule. Precision: of its labelled hits, the share that was fraud. Recall: of all events
 * known as fraud, the share it hit. Both only see labelled events. Null: no label to go by.
 */
export function ruleQuality(cohorts: readonly CohortDay[], rules: readonly RuleDay[], now: number) {
  const all = sumBy(cohorts, () => 'all');
  const byAge = sumBy(cohorts, ({ day }) => cohortOf(day, now));
  const byRule = sumBy(rules, ({ ruleId }) => ruleId);
  const names = [...byRule.keys()].sort(
    (a, b) => hitsOf(byRule, b) - hitsOf(byRule, a) || (a < b ? -1 : 1),
  );
  const byRuleAndAge = new Map(
    names.map((name) => [
      name,
      sumBy(
        rules.filter(({ ruleId }) => ruleId === name),
        ({ day }) => cohortOf(day, now),
      ),
    ]),
  );
  return {
    cohorts: COHORTS.flatMap((age) => {
      const counts = byAge.get(age);
      if (counts === undefined) return [];
      const labelled = ratio(counts.fraud + counts.falsePositive, counts.events);
      return [
        {
          age,
          events: counts.events,
          fraud: counts.fraud,
          false_positive: counts.falsePositive,
          labelled,
        },
      ];
    }),
    rules: names.map((name) => ({
      rule_id: name,
      ...qualityOf(byRule.get(name), all.get('all')),
    })),
    rules_by_age: names.flatMap((name) =>
      COHORTS.flatMap((age) => {
        const counts = byRuleAndAge.get(name)?.get(age);
        return counts === undefined
          ? []
          : [{ rule_id: name, age, ...qualityOf(counts, byAge.get(age)) }];
      }),
    ),
  };
}

const hitsOf = (counts: ReadonlyMap<string, Counts>, name: string): number =>
  counts.get(name)?.events ?? 0;

function qualityOf(hits: Counts | undefined, all: Counts | undefined) {
  const { events, fraud, falsePositive } = hits ?? NOTHING;
  return {
    hits: events,
    fraud,
    false_positive: falsePositive,
    precision: ratio(fraud, fraud + falsePositive),
    recall: ratio(fraud, all?.fraud ?? 0),
  };
}

const NOTHING: Counts = { events: 0, fraud: 0, falsePositive: 0 };

function sumBy<Row extends CohortDay>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): Map<string, Counts> {
  const sums = new Map<string, Counts>();
  for (const row of rows) {
    const sum = sums.get(keyOf(row)) ?? { ...NOTHING };
    sum.events += row.events;
    sum.fraud += row.fraud;
    sum.falsePositive += row.falsePositive;
    sums.set(keyOf(row), sum);
  }
  return sums;
}
