import { JOB_ID_SQL } from '../../ledger/status.ts';

/** Something that must hold for every row, asked in one statement. */
export interface Check {
  readonly name: string;
  /** What it means where it does not hold, for people. */
  readonly says: string;
  /** True where nothing is lost: advice, no deviation. */
  readonly advice?: boolean;
  /**
   * Gives the rows that deviate, each named by one text column `what`: ids of ours, never anything that was sent.
   * `$1` is the time of the check.
   */
  readonly deviations: string;
}

/** Rows younger than this may still be on their way to a job or a result. */
const SETTLED = `$1::timestamptz - interval '10 minutes'`;

const ids = (table: string, id: string): string =>
  `'Site ' || ${table}.site_id || ', ing_' || ${table}.${id}`;

/** Every row of `child` has the row of `parent` that it is about. */
function belongs(child: string, parent: string, on: readonly (readonly [string, string])[]): Check {
  const [, [, first] = ['', 'id']] = on;
  return {
    name: `${child} belongs to ${parent}`,
    says: `rows of ${child} without the row of ${parent} that they are about`,
    deviations: `select 'Site ' || child.site_id || ', ' || child.${on[1]?.[0]} as what from ${child} child
      left join ${parent} parent on ${on.map(([a, b]) => `parent.${b} = child.${a}`).join(' and ')}
      where parent.${first} is null and $1::timestamptz is not null`,
  };
}

const BY_INGESTION = [
  ['site_id', 'site_id'],
  ['ingestion_id', 'id'],
] as const;
const BY_EVENT = [
  ['site_id', 'site_id'],
  ['ingestion_id', 'ingestion_id'],
] as const;

/** The checks after the hashes of the payloads, in the order in which they are run. */
export const CHECKS: readonly Check[] = [
  belongs('ingestion_payload', 'ingestion', BY_INGESTION),
  belongs('evaluation', 'ingestion', BY_INGESTION),
  belongs('evaluation_features', 'evaluation', BY_EVENT),
  belongs('evaluation_attempt', 'ingestion', BY_INGESTION),
  belongs('outcome_label', 'ingestion', BY_INGESTION),
  belongs('entity_label', 'outcome_label', [...BY_EVENT, ['outcome_label', 'outcome_label']]),
  belongs('dead_letter', 'ingestion', BY_INGESTION),
  belongs('dead_letter_resolution', 'dead_letter', [...BY_EVENT, ['dead_letter_id', 'id']]),
  belongs('open_dead_letter', 'dead_letter', [...BY_EVENT, ['dead_letter_id', 'id']]),
  belongs('idempotency_key', 'ingestion', BY_INGESTION),
  belongs('webhook_delivery', 'webhook_event', [
    ['site_id', 'site_id'],
    ['event_id', 'id'],
    ['created_at', 'created_at'],
  ]),
  {
    name: 'idempotency keys stand for the payload that was accepted',
    says: 'keys whose fingerprint is not the hash of the event they are bound to',
    deviations: `select ${ids('event', 'id')} as what from idempotency_key key
      join ingestion event on event.site_id = key.site_id and event.id = key.ingestion_id
      where key.operation = 'event' and key.fingerprint <> event.payload_hash and $1::timestamptz is not null`,
  },
  // An event counts when it was accepted, which bound a key at that very instant; imported ones count for nobody.
  {
    name: 'usage counters agree with the ledger',
    says: 'counters that do not say how many events their credential sent in that month (UTC)',
    deviations: `select 'Site ' || coalesce(counter.site_id, sent.site_id) || ', credential '
        || coalesce(counter.credential_id, sent.credential_id) || ', ' || coalesce(counter.month, sent.month)
        || ': counted ' || coalesce(counter.accepted, 0) || ', in the ledger ' || coalesce(sent.accepted, 0) as what
      from usage_counter counter
      full join (
        select site_id, credential_id, to_char(received_at at time zone 'UTC', 'YYYY-MM') as month, count(*) as accepted
        from ingestion event
        where exists (
          select 1 from idempotency_key key where key.site_id = event.site_id and key.operation = 'event'
            and key.ingestion_id = event.id and key.created_at = event.received_at)
        group by 1, 2, 3
      ) sent on sent.site_id = counter.site_id and sent.credential_id = counter.credential_id
        and sent.month = counter.month
      where coalesce(counter.accepted, 0) <> coalesce(sent.accepted, 0) and $1::timestamptz is not null`,
  },
  {
    name: 'listed dead letters are those that no redrive has closed',
    says: 'events whose dead letter is listed as open or discarded and is not, or the other way round',
    deviations: `select ${ids('letter', 'ingestion_id')} as what from dead_letter letter
      left join dead_letter_resolution resolution on resolution.site_id = letter.site_id
        and resolution.ingestion_id = letter.ingestion_id and resolution.dead_letter_id = letter.id
      left join open_dead_letter listed on listed.site_id = letter.site_id
        and listed.ingestion_id = letter.ingestion_id and listed.dead_letter_id = letter.id
      where (case when resolution.kind = 'REDRIVEN' then 'closed' else coalesce(resolution.kind, 'open') end)
          <> (case when listed.site_id is null then 'closed' when listed.discarded then 'DISCARDED' else 'open' end)
        and $1::timestamptz is not null`,
  },
  {
    name: 'every event is judged, queued or a dead letter',
    says: 'events that nothing will judge; the sweeper queues them again while the service runs',
    deviations: `select ${ids('event', 'id')} as what from ingestion event
      left join evaluation result on result.site_id = event.site_id and result.ingestion_id = event.id
      left join open_dead_letter letter on letter.site_id = event.site_id and letter.ingestion_id = event.id
      left join pgboss.job job on job.name = 'evaluate' and job.state < 'completed' and job.id = ${JOB_ID_SQL('event.id')}
      where result.site_id is null and letter.site_id is null and job.id is null and event.received_at < ${SETTLED}`,
  },
  {
    name: 'sums of the reports agree with the ledger',
    says: 'hours that the reports count otherwise, as after an import of old events; reports rebuild makes them anew',
    advice: true,
    deviations: `select 'Site ' || coalesce(total.site_id, sent.site_id) || ', '
        || to_char(coalesce(total.hour, sent.hour) at time zone 'UTC', 'YYYY-MM-DD HH24"h"')
        || ': counted ' || coalesce(total.accepted, 0) || ', in the ledger ' || coalesce(sent.accepted, 0) as what
      from (select * from report_hour where site_id <> 0) total
      full join (
        select site_id, date_trunc('hour', received_at, 'UTC') as hour, count(*) as accepted from ingestion
        where received_at < (select rolled_to from report_progress) group by 1, 2
      ) sent on sent.site_id = total.site_id and sent.hour = total.hour
      where coalesce(total.accepted, 0) <> coalesce(sent.accepted, 0)
        and coalesce(total.hour, sent.hour) > $1::timestamptz - interval '399 days'`,
  },
];
