import { Migration } from '@mikro-orm/migrations';

/**
 * What reports are read from: sums by Site and hour or day, so that no report scans the ledger. In each of them
 * `site_id` 0 stands for the whole service. All but `service_hour` can be made anew from the ledger at any time
 * (`reports.rebuild`). docs/decisions/0012-backup-and-reports.md argues the choices.
 */
export class Migration0008Reports extends Migration {
  override name = '0008-reports';

  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  // hour: its first instant, UTC.
  `create table report_hour (
    site_id bigint not null,
    hour timestamptz(3) not null,
    accepted bigint not null default 0,
    evaluated bigint not null default 0,
    allowed bigint not null default 0,
    reviewed bigint not null default 0,
    held bigint not null default 0,
    blocked bigint not null default 0,
    failed_attempts bigint not null default 0,
    dead_letters bigint not null default 0,
    webhooks_delivered bigint not null default 0,
    webhooks_failed bigint not null default 0,
    constraint report_hour_pkey primary key (site_id, hour)
  ) with (fillfactor = 60)`,
  `create index report_hour_by_hour on report_hour (hour)`,
  // day: the first instant of the UTC day on which the event was judged. An event counts as fraud, false positive or
  // neither by the label it got last.
  `create table report_score_day (
    site_id bigint not null,
    day timestamptz(3) not null,
    score smallint not null,
    events bigint not null default 0,
    fraud bigint not null default 0,
    false_positive bigint not null default 0,
    constraint report_score_day_pkey primary key (site_id, day, score)
  ) with (fillfactor = 60)`,
  `create table report_rule_day (
    site_id bigint not null,
    day timestamptz(3) not null,
    rule_id text not null,
    hits bigint not null default 0,
    fraud bigint not null default 0,
    false_positive bigint not null default 0,
    constraint report_rule_day_pkey primary key (site_id, day, rule_id)
  ) with (fillfactor = 60)`,
  // Everything that happened before rolled_to is in the sums, nothing that happened later.
  `create table report_progress (
    id smallint primary key check (id = 1),
    rolled_to timestamptz(3) not null
  )`,
  // Jobs that wait or run (overdue: for more than five minutes), counted once a minute; a Site without any has no row.
  `create table report_backlog (
    site_id bigint not null,
    waiting bigint not null,
    running bigint not null,
    retrying bigint not null,
    overdue bigint not null,
    oldest_at timestamptz(3),
    counted_at timestamptz(3) not null,
    constraint report_backlog_pkey primary key (site_id)
  )`,
  // What only the processes know: answers of the public operations, and how long results took. Added to by each of them
  // every half minute.
  `create table service_hour (
    site_id bigint not null,
    hour timestamptz(3) not null,
    operation text not null,
    outcome text not null,
    count bigint not null,
    constraint service_hour_pkey primary key (site_id, hour, operation, outcome)
  ) with (fillfactor = 60)`,
  `create index service_hour_by_hour on service_hour (hour)`,
  // The sums are made from slices of time. Rows arrive in the order of these columns, so block-range indexes cost inserts
  // next to nothing; autosummarize keeps the newest ranges from being read again and again until the next vacuum.
  ...[
    ['evaluation', 'evaluated_at'],
    ['outcome_label', 'labelled_at'],
    ['evaluation_attempt', 'failed_at'],
    ['dead_letter', 'dead_at'],
    ['webhook_attempt', 'attempted_at'],
  ].map(
    ([table, column]) =>
      `create index ${table}_${column} on ${table} using brin (${column}) with (pages_per_range = 16, autosummarize = on)`,
  ),
  `alter index ingestion_received_at set (autosummarize = on)`,
];
