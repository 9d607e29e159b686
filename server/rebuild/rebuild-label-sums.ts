import { Client } from 'pg';
import type { TransactionEvent } from '../../contract/transaction.ts';
import { ALL_DAYS } from '../../ledger/entity-labels.ts';
import { entitiesOf } from '../../risk/index.ts';

/** What a rebuild of label sums is given. */
export interface LabelSumsOptions {
  /** The owning or the application's role. Never print it. */
  readonly url: string;
  /** True: what differs is replaced; false: only counted. */
  readonly write: boolean;
  /** Only the Site of this code. */
  readonly siteCode: string | undefined;
}

/** What it found. */
export interface RebuiltLabelSums {
  /** Outcome labels whose event's payload is still there, so that their entities are known from the ledger. */
  readonly labels: number;
  /** Entities that such a label was not counted for. */
  readonly uncounted: number;
  /** Sums that differ from what the labels give: wrong, missing or without a label. */
  readonly differing: number;
  /** Of all of these. */
  readonly written: number;
}

/** Labels looked at by one statement. */
const PAGE = 1_000;

/**
 * Counts the outcome labels of the ledger again for the entities of their events, and compares the sums with those that
 * evaluations read. The service may go on: each statement sees one moment, and a sum that moves meanwhile is left alone.
 */
export async function rebuildLabelSums(options: LabelSumsOptions): Promise<RebuiltLabelSums> {
  const client = new Client({
    connectionString: options.url,
    application_name: 'transaction-risk rebuild',
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows: sites } = await client.query<{ id: string }>(
      'select id from site where $1::text is null or code = $1::text order by id',
      [options.siteCode ?? null],
    );
    const sum = { labels: 0, uncounted: 0, differing: 0, written: 0 };
    for (const { id } of sites) {
      const { labels, uncounted, written } = await countAgain(client, id, options.write);
      sum.labels += labels;
      sum.uncounted += uncounted;
      const { differing, mended } = await compareSums(client, id, options.write);
      sum.differing += differing;
      sum.written += written + mended;
    }
    return sum;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Finds the entities of labelled events that their labels were not counted for. */
async function countAgain(
  client: Client,
  siteId: string,
  write: boolean,
): Promise<{ labels: number; uncounted: number; written: number }> {
  const found = { labels: 0, uncounted: 0, written: 0 };
  let after: readonly [string, string] = ['-1', ''];
  for (;;) {
    const { rows } = await client.query<{
      ingestion_id: string;
      outcome_label: string;
      labelled_at: string;
      merchant_subject: string;
      body: string | null;
    }>(
      `select label.ingestion_id, label.outcome_label, label.labelled_at::text as labelled_at, event.merchant_subject, payload.body
       from outcome_label label
       join ingestion event on event.site_id = label.site_id and event.id = label.ingestion_id
       left join ingestion_payload payload on payload.site_id = event.site_id and payload.ingestion_id = event.id
         and payload.received_at = event.received_at
       where label.site_id = $1 and (label.ingestion_id, label.outcome_label) > ($2::bigint, $3::text)
       order by label.ingestion_id, label.outcome_label limit ${PAGE}`,
      [siteId, ...after],
    );
    const known = rows.filter(({ body }) => body !== null);
    const counted = known.flatMap((label) =>
      // Validated when it was accepted, and stored by us.
      entitiesOf(JSON.parse(label.body ?? '{}') as TransactionEvent, label.merchant_subject).map(
        (entity) => ({ label, entity }),
      ),
    );
    const columns = [
      siteId,
      counted.map(({ entity }) => entity.kind),
      counted.map(({ entity }) => entity.key),
      counted.map(({ label }) => label.outcome_label),
      counted.map(({ label }) => label.ingestion_id),
      counted.map(({ label }) => label.labelled_at),
    ];
    const { rows: missing } = await client.query<{ missing: number }>(
      `with missing as (${MISSING}) ${write ? `, added as (${ADD_MISSING})` : ''}
       select count(*)::int as missing from missing`,
      columns,
    );
    found.labels += known.length;
    found.uncounted += missing[0]?.missing ?? 0;
    if (write) found.written += missing[0]?.missing ?? 0;
    const last = rows.at(-1);
    if (rows.length < PAGE || last === undefined) return found;
    after = [last.ingestion_id, last.outcome_label];
  }
}

const MISSING = `
  select $1::bigint as site_id, named.* from unnest($2::text[], $3::uuid[], $4::text[], $5::bigint[], $6::timestamptz[])
    as named (entity_kind, entity_key, outcome_label, ingestion_id, labelled_at)
  where not exists (
    select 1 from entity_label held where held.site_id = $1 and held.entity_kind = named.entity_kind
      and held.entity_key = named.entity_key and held.outcome_label = named.outcome_label
      and held.ingestion_id = named.ingestion_id)`;

const ADD_MISSING = `
  insert into entity_label (site_id, entity_kind, entity_key, outcome_label, ingestion_id, labelled_at)
  select site_id, entity_kind, entity_key, outcome_label, ingestion_id, labelled_at from missing
  on conflict (site_id, entity_kind, entity_key, outcome_label, ingestion_id) do nothing`;

const SUMS = [
  'frauds',
  'chargebacks',
  'false_positives',
  'first_fraud_at',
  'last_fraud_at',
  'delay_seconds',
];
const KEY = ['entity_kind', 'entity_key', 'day'];
const both = (names: readonly string[], one: string, other: string, how: string): string =>
  names.map((name) => `${one}.${name} ${how} ${other}.${name}`).join(' and ');
const old = SUMS.map((name) => `held.${name} as old_${name}`).join(', ');
const unmoved = SUMS.map((name) => `held.${name} is not distinct from wrong.old_${name}`).join(
  ' and ',
);

// As ledger/entity-labels.ts adds them up, label by label.
const COUNTED = `
  select entity_kind, entity_key, coalesce(day, ${ALL_DAYS}) as day,
    (count(*) filter (where outcome_label = 'FRAUD_CONFIRMED'))::integer as frauds,
    (count(*) filter (where outcome_label = 'CHARGEBACK_CONFIRMED'))::integer as chargebacks,
    (count(*) filter (where outcome_label = 'FALSE_POSITIVE'))::integer as false_positives,
    min(happened_at) filter (where outcome_label <> 'FALSE_POSITIVE') as first_fraud_at,
    max(happened_at) filter (where outcome_label <> 'FALSE_POSITIVE') as last_fraud_at,
    coalesce(sum(delay_seconds) filter (where outcome_label <> 'FALSE_POSITIVE'), 0)::bigint as delay_seconds
  from (
    select label.entity_kind, label.entity_key, label.outcome_label,
      floor(extract(epoch from label.labelled_at) / 86400)::integer as day,
      least(event.occurred_at, event.received_at) as happened_at,
      greatest(0, floor(extract(epoch from label.labelled_at - least(event.occurred_at, event.received_at)) + 0.5)) as delay_seconds
    from entity_label label
    join ingestion event on event.site_id = label.site_id and event.id = label.ingestion_id
    where label.site_id = $1
  ) labelled
  group by grouping sets ((entity_kind, entity_key, day), (entity_kind, entity_key))`;

const WRONG = `
  select coalesce(counted.entity_kind, held.entity_kind) as entity_kind,
    coalesce(counted.entity_key, held.entity_key) as entity_key, coalesce(counted.day, held.day) as day,
    counted.entity_kind is null as is_surplus, held.site_id is null as is_missing,
    ${SUMS.map((name) => `counted.${name}`).join(', ')}, ${old}
  from counted full join (select * from entity_label_day where site_id = $1) held on ${both(KEY, 'held', 'counted', '=')}
  where counted.entity_kind is null or held.site_id is null
    or not (${both(SUMS, 'held', 'counted', 'is not distinct from')})`;

const MEND = `, changed as (
    update entity_label_day held set ${SUMS.map((name) => `${name} = wrong.${name}`).join(', ')}
    from wrong where held.site_id = $1 and ${both(KEY, 'held', 'wrong', '=')}
      and not is_missing and not is_surplus and ${unmoved} returning 1
  ), removed as (
    delete from entity_label_day held using wrong
    where held.site_id = $1 and ${both(KEY, 'held', 'wrong', '=')} and is_surplus and ${unmoved} returning 1
  ), added as (
    insert into entity_label_day (site_id, ${[...KEY, ...SUMS].join(', ')})
    select $1::bigint, ${[...KEY, ...SUMS].join(', ')} from wrong where is_missing
    on conflict (site_id, entity_kind, entity_key, day) do nothing returning 1
  )`;

async function compareSums(
  client: Client,
  siteId: string,
  write: boolean,
): Promise<{ differing: number; mended: number }> {
  const mended = write
    ? `(select count(*)::int from changed) + (select count(*)::int from removed) + (select count(*)::int from added)`
    : '0';
  const { rows } = await client.query<{ differing: number; mended: number }>(
    `with counted as (${COUNTED}), wrong as (${WRONG}) ${write ? MEND : ''}
     select (select count(*)::int from wrong) as differing, ${mended} as mended`,
    [siteId],
  );
  return rows[0] ?? { differing: 0, mended: 0 };
}
