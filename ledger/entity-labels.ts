import type { EntityLabels, LabelDay } from '../risk/index.ts';
import { run, type Db } from './database.ts';
import { entityColumns, entityName, type EntityKey } from './entity-states.ts';

const MS_PER_DAY = 86_400_000;

/** The day that stands for the sums of all days: the last of an entity's key range, so that one range has both. */
export const ALL_DAYS = 2_147_483_647;

/** Days of arrival that features look back on, and one more for events that are a little late. */
const DAYS_BACK = 32;

/** A label on its way to the entities of its transaction. Times in ms since 1970 UTC. */
export interface NewEntityLabel {
  readonly siteId: bigint;
  readonly ingestionId: bigint;
  readonly outcomeLabel: string;
  readonly labelledAt: number;
  /** When the transaction happened, as features see it. */
  readonly happenedAt: number;
  readonly entities: readonly { readonly kind: string; readonly key: string }[];
}

/**
 * Counts new labels for the entities of their transactions, in the caller's transaction. The caller makes sure that
 * each label is new: calling twice counts twice.
 */
export async function addEntityLabels(db: Db, labels: readonly NewEntityLabel[]): Promise<void> {
  const rows = labels.flatMap((label) => label.entities.map((entity) => ({ label, entity })));
  if (rows.length === 0) return;
  const columns = [
    rows.map(({ label }) => String(label.siteId)),
    rows.map(({ entity }) => entity.kind),
    rows.map(({ entity }) => entity.key),
    rows.map(({ label }) => label.outcomeLabel),
    rows.map(({ label }) => String(label.ingestionId)),
    rows.map(({ label }) => new Date(label.labelledAt).toISOString()),
  ];
  await run(
    db,
    `insert into entity_label (site_id, entity_kind, entity_key, outcome_label, ingestion_id, labelled_at)
     select site_id, entity_kind, entity_key, outcome_label, ingestion_id, labelled_at
     from unnest($1::bigint[], $2::text[], $3::uuid[], $4::text[], $5::bigint[], $6::timestamptz[])
       as label (site_id, entity_kind, entity_key, outcome_label, ingestion_id, labelled_at)
     on conflict (site_id, entity_kind, entity_key, outcome_label, ingestion_id) do nothing`,
    columns,
  );
  // Sorted like every other lock on entities, so that two transactions cannot dead-lock.
  await run(
    db,
    `insert into entity_label_day as held
       (site_id, entity_kind, entity_key, day, frauds, chargebacks, false_positives, first_fraud_at, last_fraud_at, delay_seconds)
     select site_id, entity_kind, entity_key, day,
       count(*) filter (where outcome_label = 'FRAUD_CONFIRMED'), count(*) filter (where outcome_label = 'CHARGEBACK_CONFIRMED'),
       count(*) filter (where outcome_label = 'FALSE_POSITIVE'), min(happened_at) filter (where outcome_label <> 'FALSE_POSITIVE'),
       max(happened_at) filter (where outcome_label <> 'FALSE_POSITIVE'),
       coalesce(sum(delay_seconds) filter (where outcome_label <> 'FALSE_POSITIVE'), 0)
     from unnest($1::bigint[], $2::text[], $3::uuid[], $4::text[], $5::integer[], $6::timestamptz[], $7::bigint[])
       as label (site_id, entity_kind, entity_key, outcome_label, arrived, happened_at, delay_seconds)
     cross join lateral (values (arrived), (${ALL_DAYS})) as counted (day)
     group by site_id, entity_kind, entity_key, day
     order by site_id, entity_kind, entity_key, day
     on conflict (site_id, entity_kind, entity_key, day) do update set
       frauds = held.frauds + excluded.frauds,
       chargebacks = held.chargebacks + excluded.chargebacks,
       false_positives = held.false_positives + excluded.false_positives,
       first_fraud_at = least(held.first_fraud_at, excluded.first_fraud_at),
       last_fraud_at = greatest(held.last_fraud_at, excluded.last_fraud_at),
       delay_seconds = held.delay_seconds + excluded.delay_seconds`,
    [
      ...columns.slice(0, 4),
      rows.map(({ label }) => Math.floor(label.labelledAt / MS_PER_DAY)),
      rows.map(({ label }) => new Date(label.happenedAt).toISOString()),
      rows.map(({ label }) =>
        String(Math.max(0, Math.round((label.labelledAt - label.happenedAt) / 1000))),
      ),
    ],
  );
}

/**
 * Reads the outcome labels of a batch's entities; an entity without any is absent. Costs the same however many labels
 * an entity has had.
 *
 * @param since  instant of the batch's earliest event, ms since 1970 UTC
 */
export async function loadLabels(
  db: Db,
  entities: readonly EntityKey[],
  since: number,
): Promise<Map<string, EntityLabels>> {
  const { rows } = await run<{
    site_id: string;
    entity_kind: string;
    entity_key: string;
    day: number;
    frauds: number;
    chargebacks: number;
    false_positives: number;
    first_ms: string | null;
    last_ms: string | null;
    delay_seconds: string;
  }>(
    db,
    `select label.site_id, label.entity_kind, replace(label.entity_key::text, '-', '') as entity_key, label.day,
       label.frauds, label.chargebacks, label.false_positives, label.delay_seconds,
       (extract(epoch from label.first_fraud_at) * 1000)::bigint as first_ms,
       (extract(epoch from label.last_fraud_at) * 1000)::bigint as last_ms
     from unnest($1::bigint[], $2::text[], $3::uuid[]) as wanted (site_id, entity_kind, entity_key)
     join entity_label_day label
       on label.site_id = wanted.site_id and label.entity_kind = wanted.entity_kind and label.entity_key = wanted.entity_key
       and label.day >= $4::integer`,
    [...entityColumns(entities), Math.floor(since / MS_PER_DAY) - DAYS_BACK],
  );
  type Held = { -readonly [Name in keyof EntityLabels]: EntityLabels[Name] } & { days: LabelDay[] };
  const labels = new Map<string, Held>();
  for (const row of rows) {
    const name = entityName({
      siteId: BigInt(row.site_id),
      kind: row.entity_kind,
      key: row.entity_key,
    });
    let held = labels.get(name);
    if (held === undefined) {
      held = { fraudConfirmed: 0, chargebackConfirmed: 0, falsePositive: 0, days: [] };
      labels.set(name, held);
    }
    if (row.day === ALL_DAYS) {
      held.fraudConfirmed = row.frauds;
      held.chargebackConfirmed = row.chargebacks;
      held.falsePositive = row.false_positives;
      continue;
    }
    held.days.push({
      day: row.day,
      frauds: row.frauds + row.chargebacks,
      falsePositives: row.false_positives,
      firstFraudAt: Number(row.first_ms ?? 0),
      lastFraudAt: Number(row.last_ms ?? 0),
      delaySeconds: Number(row.delay_seconds),
    });
  }
  return labels;
}
