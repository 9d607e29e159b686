import type { EntityLabels } from '../risk/index.ts';
import { run, type Db } from './database.ts';
import { entityColumns, entityName, type EntityKey } from './entity-states.ts';

/** Counts the outcome labels of a batch's entities; an entity without any is absent. */
export async function countLabels(
  db: Db,
  entities: readonly EntityKey[],
): Promise<Map<string, EntityLabels>> {
  const { rows } = await run<{
    site_id: string;
    entity_kind: string;
    entity_key: string;
    fraud: number;
    chargeback: number;
    false_positive: number;
  }>(
    db,
    `select label.site_id, label.entity_kind, replace(label.entity_key::text, '-', '') as entity_key,
       (count(*) filter (where outcome_label = 'FRAUD_CONFIRMED'))::int as fraud,
       (count(*) filter (where outcome_label = 'CHARGEBACK_CONFIRMED'))::int as chargeback,
       (count(*) filter (where outcome_label = 'FALSE_POSITIVE'))::int as false_positive
     from entity_label label
     join unnest($1::bigint[], $2::text[], $3::uuid[]) as wanted (site_id, entity_kind, entity_key)
       on label.site_id = wanted.site_id and label.entity_kind = wanted.entity_kind and label.entity_key = wanted.entity_key
     group by label.site_id, label.entity_kind, label.entity_key`,
    entityColumns(entities),
  );
  return new Map(
    rows.map((row) => [
      entityName({ siteId: BigInt(row.site_id), kind: row.entity_kind, key: row.entity_key }),
      {
        fraudConfirmed: row.fraud,
        chargebackConfirmed: row.chargeback,
        falsePositive: row.false_positive,
      },
    ]),
  );
}
