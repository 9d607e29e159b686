import { run, type Db } from './database.ts';
import { bareArray, joinTexts, RECORD_SEPARATOR } from './joined-texts.ts';
import { together } from './transactions.ts';

/** Names one entity of a Site; `key` is 32 hex digits. */
export interface EntityKey {
  readonly siteId: bigint;
  readonly kind: string;
  readonly key: string;
}

/** An entity's stored history and how often it has changed, from 1. */
export interface StoredState {
  readonly state: string;
  readonly version: number;
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
  bareArray(entities.map((entity) => entity.siteId)),
  bareArray(entities.map((entity) => entity.kind)),
  bareArray(entities.map((entity) => entity.key)),
];

/**
 * Reads the states of entities, each in the place of its entity; undefined for one never seen. Takes no locks: whoever
 * is going to change them holds the turns of their Sites (evaluation-turns.ts).
 */
export async function readStates(
  db: Db,
  entities: readonly EntityKey[],
): Promise<(StoredState | undefined)[]> {
  const states: (StoredState | undefined)[] = entities.map(() => undefined);
  if (entities.length === 0) return states;
  // Each row says which entity it belongs to: rows come in no order.
  const { rows } = await run<{ place: string; state: string; version: string }>(
    db,
    `select wanted.place, held.state, held.version
     from unnest($1::bigint[], $2::uuid[]) with ordinality as wanted (site_id, entity_key, place)
     join entity_state held on held.site_id = wanted.site_id and held.entity_key = wanted.entity_key`,
    [bareArray(entities.map(({ siteId }) => siteId)), bareArray(entities.map(({ key }) => key))],
  );
  for (const { place, state, version } of rows) {
    states[Number(place) - 1] = { state, version: Number(version) };
  }
  return states;
}

/** A state on its way back: `version` is one more than that of the state it was made from, 1 for a new one. */
export type NewState = EntityKey & StoredState;

/**
 * Writes states back, each one version on, in two statements that are sent at once. Needs the turns of their Sites; a
 * writer that went around them is caught by the version.
 *
 * @throws StateMoved when any of them changed meanwhile
 */
export async function saveStates(db: Db, states: readonly NewState[]): Promise<void> {
  const fresh = states.filter(({ version }) => version === 1);
  const known = states.filter(({ version }) => version !== 1);
  const [inserted, updated] = await together(
    fresh.length === 0 ? Promise.resolve(0) : insertStates(db, fresh),
    known.length === 0 ? Promise.resolve(0) : updateStates(db, known),
  );
  if (inserted !== fresh.length || updated !== known.length) throw new StateMoved();
}

async function insertStates(db: Db, states: readonly NewState[]): Promise<number> {
  const { affected } = await run(
    db,
    `insert into entity_state (site_id, entity_kind, entity_key, state, version)
     select site_id, entity_kind, entity_key, state, 1
     from unnest($1::bigint[], $2::text[], $3::uuid[], string_to_array($4::text, $5::text))
       as fresh (site_id, entity_kind, entity_key, state)
     on conflict (site_id, entity_key) do nothing`,
    [...entityColumns(states), joinTexts(states.map(({ state }) => state)), RECORD_SEPARATOR],
  );
  return affected;
}

async function updateStates(db: Db, states: readonly NewState[]): Promise<number> {
  const { affected } = await run(
    db,
    `update entity_state held set state = change.state, version = change.version
     from unnest($1::bigint[], $2::uuid[], string_to_array($3::text, $5::text), $4::bigint[])
       as change (site_id, entity_key, state, version)
     where held.site_id = change.site_id and held.entity_key = change.entity_key
       and held.version = change.version - 1`,
    [
      bareArray(states.map(({ siteId }) => siteId)),
      bareArray(states.map(({ key }) => key)),
      joinTexts(states.map(({ state }) => state)),
      bareArray(states.map(({ version }) => version)),
      RECORD_SEPARATOR,
    ],
  );
  return affected;
}
