import { run, type Db } from './database.ts';
import { joinTexts, RECORD_SEPARATOR } from './joined-texts.ts';
import { compare } from './ordering.ts';

/** Names one entity of a Site; `key` is 32 hex digits. */
export interface EntityKey {
  readonly siteId: bigint;
  readonly kind: string;
  readonly key: string;
}

/** An entity's stored history; `version` 0 and no text for one never seen. */
export interface StoredState extends EntityKey {
  readonly state: string | null;
  readonly version: bigint;
}

/** Another worker changed a state meanwhile: roll back and evaluate the batch again on what is stored now. */
export class StateMoved extends Error {
  override name = 'StateMoved';
}

/** Identifies an entity within a batch. */
export const entityName = (entity: EntityKey): string =>
  `${entity.siteId}/${entity.kind}/${entity.key}`;

/** Sites, kinds and keys as parallel arrays, for `unnest($1::bigint[], $2::text[], $3::uuid[])`. */
export const entityColumns = (entities: readonly EntityKey[]): unknown[] => [
  entities.map((entity) => String(entity.siteId)),
  entities.map((entity) => entity.kind),
  entities.map((entity) => entity.key),
];

function sorted<T extends EntityKey>(entities: readonly T[]): T[] {
  return [...entities].sort(
    (a, b) => compare(a.siteId, b.siteId) || compare(a.kind, b.kind) || compare(a.key, b.key),
  );
}

/** Reads and locks the states of a batch's entities, in key order, so that two workers cannot dead-lock. */
export async function lockStates(
  db: Db,
  entities: readonly EntityKey[],
): Promise<Map<string, StoredState>> {
  const { rows } = await run<{
    site_id: string;
    entity_kind: string;
    entity_key: string;
    state: string;
    version: string;
  }>(
    db,
    `select held.site_id, held.entity_kind, replace(held.entity_key::text, '-', '') as entity_key, held.state, held.version
     from entity_state held
     join unnest($1::bigint[], $2::text[], $3::uuid[]) as wanted (site_id, entity_kind, entity_key)
       on held.site_id = wanted.site_id and held.entity_kind = wanted.entity_kind and held.entity_key = wanted.entity_key
     order by held.site_id, held.entity_kind, held.entity_key
     for update of held`,
    entityColumns(sorted(entities)),
  );
  return new Map(
    rows.map((row) => {
      const stored = {
        siteId: BigInt(row.site_id),
        kind: row.entity_kind,
        key: row.entity_key,
        state: row.state,
        version: BigInt(row.version),
      };
      return [entityName(stored), stored];
    }),
  );
}

/**
 * Writes the states back, each one version on. A state that was new to this batch and to another worker's at once is
 * caught here, because there was no row to lock.
 *
 * @throws StateMoved when any of them changed meanwhile
 */
export async function saveStates(
  db: Db,
  states: readonly (EntityKey & { readonly state: string; readonly version: bigint })[],
): Promise<void> {
  if (states.length === 0) return;
  const ordered = sorted(states);
  const { affected } = await run(
    db,
    `insert into entity_state as held (site_id, entity_kind, entity_key, state, version)
     select site_id, entity_kind, entity_key, state, version
     from unnest($1::bigint[], $2::text[], $3::uuid[], string_to_array($4::text, $6::text), $5::bigint[])
       as change (site_id, entity_kind, entity_key, state, version)
     on conflict (site_id, entity_kind, entity_key) do update
       set state = excluded.state, version = excluded.version
       where held.version = excluded.version - 1`,
    [
      ...entityColumns(ordered),
      joinTexts(ordered.map((entity) => entity.state)),
      ordered.map((entity) => String(entity.version)),
      RECORD_SEPARATOR,
    ],
  );
  if (affected !== ordered.length) throw new StateMoved();
}
