import { run, type Db } from '../database.ts';

/** What one pass did. */
export interface RollUpPass {
  /** Everything that happened before it is in the sums; ms since 1970 UTC. */
  readonly rolledTo: number;
  /** Ledger rows and results that the pass read, for choosing the next one's span. */
  readonly rows: number;
}

/** Sums by hour are kept this long, ms: a year and a month, so that a month can be held against last year's. */
const KEEP_HOURS_MS = 400 * 86_400_000;

/** Sums by day are kept this long, ms. */
const KEEP_DAYS_MS = 1_500 * 86_400_000;

/** `$1` and `$2` are the ends of the slice in every statement here. */
const inSlice = (column: string): string =>
  `${column} >= $1::timestamptz and ${column} < $2::timestamptz`;

const hourOf = (column: string): string => `date_trunc('hour', ${column}, 'UTC')`;
const dayOf = (column: string): string => `date_trunc('day', ${column}, 'UTC')`;

/**
 * Adds what `slice` holds to the sums of a table, for each Site and, as site_id 0, for all. Rows are written in the order
 * of their keys.
 */
function addTo(
  table: string,
  keys: readonly string[],
  sums: readonly string[],
  slice = 'slice',
): string {
  const under = keys.join(', ');
  return `insert into ${table} as total (site_id, ${under}, ${sums.join(', ')})
    select coalesce(site_id, 0), ${under}, ${sums.map((sum) => `sum(${sum})`).join(', ')}
    from ${slice} group by grouping sets ((site_id, ${under}), (${under})) order by 1, ${under}
    on conflict (site_id, ${under}) do update set
      ${sums.map((sum) => `${sum} = total.${sum} + excluded.${sum}`).join(', ')}`;
}

const addHours = (source: string, sums: readonly string[]): string =>
  `with slice as (${source}), added as (${addTo('report_hour', ['hour'], sums)})
   select coalesce(sum(${sums[0]}), 0) as rows from slice`;

const ACCEPTED = addHours(
  `select site_id, ${hourOf('received_at')} as hour, count(*) as accepted
   from ingestion where ${inSlice('received_at')} group by 1, 2`,
  ['accepted'],
);

const EVALUATED = addHours(
  `select site_id, ${hourOf('evaluated_at')} as hour, count(*) as evaluated,
     count(*) filter (where decision = 'ALLOW') as allowed,
     count(*) filter (where decision = 'REVIEW') as reviewed,
     count(*) filter (where decision = 'HOLD_RECOMMENDED') as held,
     count(*) filter (where decision = 'BLOCK_RECOMMENDED') as blocked
   from evaluation where ${inSlice('evaluated_at')} group by 1, 2`,
  ['evaluated', 'allowed', 'reviewed', 'held', 'blocked'],
);

const FAILED_ATTEMPTS = addHours(
  `select site_id, ${hourOf('failed_at')} as hour, count(*) as failed_attempts
   from evaluation_attempt where ${inSlice('failed_at')} group by 1, 2`,
  ['failed_attempts'],
);

const DEAD_LETTERS = addHours(
  `select site_id, ${hourOf('dead_at')} as hour, count(*) as dead_letters
   from dead_letter where ${inSlice('dead_at')} group by 1, 2`,
  ['dead_letters'],
);

const WEBHOOKS = addHours(
  `select site_id, ${hourOf('attempted_at')} as hour,
     count(*) filter (where outcome = 'DELIVERED') as webhooks_delivered,
     count(*) filter (where outcome = 'FAILED') as webhooks_failed
   from webhook_attempt where ${inSlice('attempted_at')} and outcome in ('DELIVERED', 'FAILED') group by 1, 2`,
  ['webhooks_delivered', 'webhooks_failed'],
);

const SCORES = `with slice as (
    select site_id, ${dayOf('evaluated_at')} as day, score, count(*) as events
    from evaluation where ${inSlice('evaluated_at')} group by 1, 2, 3
  ) ${addTo('report_score_day', ['day', 'score'], ['events'])}`;

/** rule_scores names the hits and lists that counted, and may hold the model's probability and lowered scores beside them. */
const RULE_NAMES = (row: string): string =>
  `cross join lateral jsonb_object_keys(${row}.rule_scores) as rule (rule_id)`;
const IS_RULE = `rule.rule_id !~ '^(model|cap)_'`;

const RULES = `with slice as (
    select judged.site_id, ${dayOf('judged.evaluated_at')} as day, rule.rule_id, count(*) as hits
    from evaluation judged ${RULE_NAMES('judged')}
    where ${inSlice('judged.evaluated_at')} and ${IS_RULE} group by 1, 2, 3
  ) ${addTo('report_rule_day', ['day', 'rule_id'], ['hits'])}`;

/**
 * What labels change. An event counts by the label it got last (a later one corrects an earlier one; at the same instant
 * the name decides), so a new label adds to its own verdict and takes the former one's away.
 *
 * A label may come before its event was judged. Each pair of label and result is counted in the slice that holds the
 * later of the two: either the label lies in the slice and the result before its end, or the result lies in it and the
 * label before its beginning.
 */
const VERDICTS = `with moved as (
    select site_id, ingestion_id, outcome_label, 1 as change
    from outcome_label where ${inSlice('labelled_at')}
    union all
    select label.site_id, label.ingestion_id, former.outcome_label, -1
    from outcome_label label
    cross join lateral (
      select other.outcome_label from outcome_label other
      where other.site_id = label.site_id and other.ingestion_id = label.ingestion_id
        and (other.labelled_at, other.outcome_label) < (label.labelled_at, label.outcome_label)
      order by other.labelled_at desc, other.outcome_label desc limit 1
    ) former
    where ${inSlice('label.labelled_at')}
  ), judged as (
    select result.site_id, result.evaluated_at, result.score, result.rule_scores, moved.outcome_label, moved.change
    from moved
    join evaluation result on result.site_id = moved.site_id and result.ingestion_id = moved.ingestion_id
    where result.evaluated_at < $2::timestamptz
    union all
    select result.site_id, result.evaluated_at, result.score, result.rule_scores, known.outcome_label, 1
    from evaluation result
    cross join lateral (
      select label.outcome_label from outcome_label label
      where label.site_id = result.site_id and label.ingestion_id = result.ingestion_id
        and label.labelled_at < $1::timestamptz
      order by label.labelled_at desc, label.outcome_label desc limit 1
    ) known
    where ${inSlice('result.evaluated_at')}
  ), verdict as (
    select site_id, ${dayOf('evaluated_at')} as day, score, rule_scores,
      case when outcome_label = 'FALSE_POSITIVE' then 0 else change end as fraud,
      case when outcome_label = 'FALSE_POSITIVE' then change else 0 end as false_positive
    from judged
  )`;

// One statement, so that labels and results are brought together once.
const VERDICT_SUMS = `${VERDICTS}, of_scores as (
    select site_id, day, score, sum(fraud) as fraud, sum(false_positive) as false_positive
    from verdict group by 1, 2, 3
  ), of_rules as (
    select verdict.site_id, verdict.day, rule.rule_id, sum(fraud) as fraud, sum(false_positive) as false_positive
    from verdict ${RULE_NAMES('verdict')} where ${IS_RULE} group by 1, 2, 3
  ), added_scores as (${addTo('report_score_day', ['day', 'score'], ['fraud', 'false_positive'], 'of_scores')})
  ${addTo('report_rule_day', ['day', 'rule_id'], ['fraud', 'false_positive'], 'of_rules')}`;

/** How far the sums have come, ms since 1970 UTC; undefined before the first pass. */
export async function readProgress(db: Db): Promise<number | undefined> {
  const { rows } = await run<{ rolled_to: string }>(
    db,
    'select (extract(epoch from rolled_to) * 1000)::bigint as rolled_to from report_progress where id = 1',
  );
  return rows[0] === undefined ? undefined : Number(rows[0].rolled_to);
}

/**
 * Adds the next slice of time, at most `span` ms long and before `until`, to the sums, and moves the mark; in the caller's
 * transaction, so that each row counts once whatever crashes. Rows that become visible behind the mark are never counted:
 * `until` keeps its distance from now.
 *
 * @returns undefined where another process is at it, or nothing is left to do
 */
export async function rollUp(db: Db, until: number, span: number): Promise<RollUpPass | undefined> {
  const from = await claimProgress(db, until);
  if (from === undefined || from >= until) return undefined;
  const end = Math.min(until, from + span);
  const slice = [new Date(from).toISOString(), new Date(end).toISOString()];
  let rows = 0;
  for (const statement of [ACCEPTED, EVALUATED, FAILED_ATTEMPTS, DEAD_LETTERS, WEBHOOKS]) {
    const { rows: counted } = await run<{ rows: string }>(db, statement, slice);
    rows += Number(counted[0]?.rows ?? 0);
  }
  for (const statement of [SCORES, RULES, VERDICT_SUMS]) {
    await run(db, statement, slice);
  }
  await run(db, 'update report_progress set rolled_to = $1::timestamptz where id = 1', [slice[1]]);
  if (Math.floor(from / 86_400_000) !== Math.floor(end / 86_400_000)) await prune(db, end);
  return { rolledTo: end, rows };
}

/** The mark, locked; made first where it is missing. Undefined where another process holds it. */
async function claimProgress(db: Db, until: number): Promise<number | undefined> {
  if ((await readProgress(db)) === undefined) {
    // Reads the ledger once in the life of a database.
    await run(
      db,
      `insert into report_progress (id, rolled_to)
       select 1, least(min(received_at), $1::timestamptz) from ingestion on conflict (id) do nothing`,
      [new Date(until).toISOString()],
    );
  }
  const { rows } = await run<{ rolled_to: string }>(
    db,
    `select (extract(epoch from rolled_to) * 1000)::bigint as rolled_to
     from report_progress where id = 1 for update skip locked`,
  );
  return rows[0] === undefined ? undefined : Number(rows[0].rolled_to);
}

async function prune(db: Db, now: number): Promise<void> {
  const hours = [new Date(now - KEEP_HOURS_MS).toISOString()];
  const days = [new Date(now - KEEP_DAYS_MS).toISOString()];
  await run(db, 'delete from report_hour where hour < $1::timestamptz', hours);
  await run(db, 'delete from service_hour where hour < $1::timestamptz', hours);
  await run(db, 'delete from report_score_day where day < $1::timestamptz', days);
  await run(db, 'delete from report_rule_day where day < $1::timestamptz', days);
}

/**
 * Empties the sums, so that the coming passes make them anew from the ledger: after an import of old events, which lie
 * behind the mark. Needs an open transaction. What only the processes knew (`service_hour`) stays.
 */
export async function forgetSums(db: Db): Promise<void> {
  // The lock first: a pass in another process would otherwise add to sums that are gone.
  await run(db, 'select 1 from report_progress where id = 1 for update');
  for (const table of ['report_hour', 'report_score_day', 'report_rule_day', 'report_progress']) {
    await run(db, `delete from ${table}`);
  }
}
