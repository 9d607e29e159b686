import type { Db } from '../ledger/database.ts';
import { loadLabels } from '../ledger/entity-labels.ts';
import {
  entityName,
  readStates,
  type EntityKey,
  type NewState,
  type StoredState,
} from '../ledger/entity-states.ts';
import { lockTurns, takeTurns } from '../ledger/evaluation-turns.ts';
import type { BatchRow } from '../ledger/load-batch.ts';
import { together } from '../ledger/transactions.ts';
import {
  decodeState,
  encodeState,
  type EntityKind,
  type EntityLabels,
  type EntityState,
  type RiskEvent,
} from '../risk/index.ts';
import type { KnownStates } from './known-states.ts';

/**
 * Changes from which on a state is remembered. Most cards, devices and pairs are met once in days: keeping them would
 * cost more in the garbage collector than reading them again.
 */
const RECURS = 2;

/** One entity of a batch. */
export class Met implements EntityKey {
  readonly siteId: bigint;
  readonly kind: EntityKind;
  readonly key: string;
  /** As the events of the batch so far leave it; undefined before its first. */
  state: EntityState | undefined;
  labels: EntityLabels | undefined;
  /** How often the state had changed when the batch met it; 0 for a new one. */
  version = 0;
  changed = false;
  /** Size of the text that was written. */
  size = 0;
  #stored: string | undefined;

  constructor(siteId: bigint, kind: EntityKind, key: string) {
    this.siteId = siteId;
    this.kind = kind;
    this.key = key;
  }

  found(stored: StoredState | undefined): void {
    this.#stored = stored?.state;
    this.version = stored?.version ?? 0;
  }

  /** @throws RangeError or SyntaxError where the stored text is not readable */
  decode(): void {
    if (this.#stored === undefined) return;
    this.state = decodeState(this.#stored, this.kind);
    this.#stored = undefined;
  }

  become(state: EntityState): void {
    this.state = state;
    this.changed = true;
  }
}

/** The entities that the events of a batch meet: each one once, whatever the number of its events. */
export class Encounters {
  readonly #sites = new Map<bigint, Map<string, Met>>();
  readonly #all: Met[] = [];

  constructor(items: readonly { readonly row: BatchRow; readonly event: RiskEvent }[]) {
    for (const { row, event } of items) {
      let site = this.#sites.get(row.siteId);
      if (site === undefined) this.#sites.set(row.siteId, (site = new Map<string, Met>()));
      for (const { kind, key } of event.entities) {
        if (site.has(key)) continue;
        const met = new Met(row.siteId, kind, key);
        site.set(key, met);
        this.#all.push(met);
      }
    }
  }

  /** The entities of an event, in the order in which it names them. */
  of({ row, event }: { readonly row: BatchRow; readonly event: RiskEvent }): Met[] {
    const site = this.#sites.get(row.siteId);
    return event.entities.map(({ key }) => site?.get(key) as Met);
  }

  /**
   * Takes the turns of the Sites, then finds states and labels. What is known needs no reading; whether it is true is
   * only certain with the turn, so it is read after all where another worker had it meanwhile.
   *
   * @param since  instant of the batch's earliest event, ms since 1970 UTC
   */
  async read(db: Db, known: KnownStates, since: number): Promise<void> {
    const siteIds = [...this.#sites.keys()];
    const missing = this.#all.filter((met) => {
      const turn = known.turnOf(met.siteId);
      if (turn === undefined) return false;
      const held = known.get(turn, met.key);
      if (held === undefined) return true;
      met.state = held.state;
      met.version = held.version;
      return false;
    });
    const [mine, stored, labels] = await together(
      lockTurns(db, siteIds, known.holder),
      readStates(db, missing),
      loadLabels(db, this.#all, since),
    );
    for (const [index, met] of missing.entries()) met.found(stored[index]);
    for (const [name, found] of labelsByMet(this.#all, labels)) name.labels = found;

    const anew = siteIds.filter(
      (siteId) => !mine.has(siteId) || known.turnOf(siteId) === undefined,
    );
    if (anew.length === 0) return;
    const affected = new Set(anew);
    const unread = this.#all.filter(({ siteId }) => affected.has(siteId));
    const [, again] = await together(takeTurns(db, anew, known.holder), readStates(db, unread));
    for (const [index, met] of unread.entries()) {
      met.state = undefined;
      met.found(again[index]);
    }
    for (const siteId of anew) known.begin(siteId);
  }

  /** What has changed, ready to be stored. */
  changed(): NewState[] {
    const states: NewState[] = [];
    for (const met of this.#all) {
      if (!met.changed || met.state === undefined) continue;
      const { siteId, kind, key, version } = met;
      const state = encodeState(met.state);
      met.size = state.length;
      states.push({ siteId, kind, key, state, version: version + 1 });
    }
    return states;
  }

  /** Keeps what was stored for the worker's next batches. */
  remember(known: KnownStates): void {
    for (const { changed, key, siteId, size, state, version } of this.#all) {
      const turn = known.turnOf(siteId);
      if (!changed || state === undefined || turn === undefined) continue;
      if (version < RECURS) continue;
      known.set(turn, key, { state, version: version + 1, size });
    }
  }
}

function labelsByMet(
  entities: readonly Met[],
  labels: ReadonlyMap<string, EntityLabels>,
): [Met, EntityLabels][] {
  if (labels.size === 0) return [];
  return entities.flatMap((met) => {
    const found = labels.get(entityName(met));
    return found === undefined ? [] : [[met, found] as [Met, EntityLabels]];
  });
}
