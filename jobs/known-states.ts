import { randomUUID } from 'node:crypto';
import type { EntityState } from '../risk/index.ts';

/** A decoded state as it is stored now, with its version and the size of its text. */
export interface KnownState {
  readonly state: EntityState;
  readonly version: number;
  readonly size: number;
}

/** By turn and key of the entity. */
type Generation = Map<string, Map<string, KnownState>>;

/** Two generations of this many characters of stored states each are remembered: some 60 MB of heap. */
const GENERATION = 6_000_000;

/**
 * States that a worker wrote itself and need not read again, as long as no other worker had the turn of their Site since
 * (ledger/evaluation-turns.ts). The busiest entities are met in every batch, and theirs are the largest states.
 *
 * Two generations instead of a list of uses: what is met again moves to the young one, the old one is dropped whole.
 */
export class KnownStates {
  /** Names this worker where turns are kept. */
  readonly holder = randomUUID();
  #young: Generation = new Map();
  #old: Generation = new Map();
  #youngSize = 0;
  /** Sites whose turn was this worker's last, with the name their states are remembered under. */
  readonly #sites = new Map<bigint, string>();
  #turns = 0;

  /** Under what name the states of a Site are remembered now; undefined where none are. */
  turnOf(siteId: bigint): string | undefined {
    return this.#sites.get(siteId);
  }

  /** Begins to remember the states of a Site afresh. */
  begin(siteId: bigint): string {
    this.#turns += 1;
    const turn = this.#turns.toString(36);
    this.#sites.set(siteId, turn);
    return turn;
  }

  /** Forgets everything: it is not known what became of a change. */
  clear(): void {
    this.#sites.clear();
    this.#young.clear();
    this.#old.clear();
    this.#youngSize = 0;
  }

  get(turn: string, key: string): KnownState | undefined {
    const young = this.#young.get(turn)?.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(turn)?.get(key);
    if (old !== undefined) this.set(turn, key, old);
    return old;
  }

  set(turn: string, key: string, known: KnownState): void {
    if (this.#youngSize > GENERATION) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngSize = 0;
    }
    let states = this.#young.get(turn);
    if (states === undefined) this.#young.set(turn, (states = new Map<string, KnownState>()));
    this.#youngSize += known.size - (states.get(key)?.size ?? 0);
    states.set(key, known);
  }
}
