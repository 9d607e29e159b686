import type { Db } from '../../ledger/database.ts';
import {
  readCandidates,
  readCards,
  readFeatures,
  type TrainingCandidate,
} from '../../ledger/training-rows.ts';
import type { Transaction } from '../../ledger/transactions.ts';
import { decodeFeatures, FEATURES } from '../../risk/index.ts';
import { binOf, findEdges, type Edges } from '../../risk/model/bins.ts';
import type { LearningRows } from '../../risk/model/learn.ts';

/** Rows learned from at most, a byte for each feature: 275 MB outside the heap. All frauds are among them. */
export const MOST_ROWS = 600_000;

/** Genuine rows in which the bins' edges are looked for, beside all frauds. */
const EDGE_ROWS = 20_000;

const CHUNK = 2_000;

/** A candidate that was chosen, with how many rows of the stream it stands for. */
interface Chosen extends TrainingCandidate {
  readonly weight: number;
}

/**
 * Reads what a model learns from: every fraud of the period and as many genuine payments as there is room for, chosen
 * by a digest of their ids, with the features stored when they were judged. The same ledger gives the same rows in the
 * same order.
 */
export async function readLearningRows(
  transaction: Transaction,
  siteId: bigint,
  period: { readonly from: number; readonly to: number },
  mostRows: number = MOST_ROWS,
): Promise<LearningRows> {
  const chosen = choose(await readAll(transaction, siteId, period), mostRows);
  const cards = await cardsOf(transaction, siteId, chosen, period);
  const reader = new FeatureReader(transaction, siteId, chosen);
  const first = await reader.next(edgeRows(chosen));
  const edges = findEdges(
    first.map(({ values }) => values),
    FEATURES.length,
  );
  const rows = new RowStore(edges, chosen.length, cards);
  for (const row of first) rows.add(row.of, row.values);
  while (!reader.isDone) {
    for (const row of await reader.next(CHUNK)) rows.add(row.of, row.values);
  }
  return rows.finish();
}

async function readAll(
  transaction: Transaction,
  siteId: bigint,
  period: { readonly from: number; readonly to: number },
): Promise<TrainingCandidate[]> {
  const all: TrainingCandidate[] = [];
  let after: bigint | undefined;
  do {
    const page = await transaction((db: Db) => readCandidates(db, siteId, period, after));
    for (const row of page.rows) all.push(row);
    after = page.next;
  } while (after !== undefined);
  return all;
}

/** Frauds first, then genuine payments by the digest of their ids: the first of them are a sample of all. */
function choose(all: readonly TrainingCandidate[], mostRows: number): Chosen[] {
  const frauds = all.filter(({ isFraud }) => isFraud).map((row) => ({ ...row, weight: 1 }));
  const genuine = all
    .filter(({ isFraud }) => !isFraud)
    .map((row) => ({ row, digest: digestOf(row.ingestionId) }))
    .toSorted((a, b) => a.digest - b.digest || (a.row.ingestionId < b.row.ingestionId ? -1 : 1));
  const kept = genuine.slice(0, Math.max(0, mostRows - frauds.length));
  const weight = kept.length === 0 ? 1 : genuine.length / kept.length;
  return [...frauds, ...kept.map(({ row }) => ({ ...row, weight }))];
}

function edgeRows(chosen: readonly Chosen[]): number {
  const frauds = chosen.findIndex(({ isFraud }) => !isFraud);
  return Math.max(0, frauds) + EDGE_ROWS;
}

/** 32 well-mixed bits of an id. */
function digestOf(id: bigint): number {
  let mixed = Number(id & 0xffff_ffffn) ^ Number((id >> 32n) & 0xffff_ffffn);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Only validation asks for cards, and it takes the last part of the time. */
const CARDS_FROM = 0.6;

async function cardsOf(
  transaction: Transaction,
  siteId: bigint,
  chosen: readonly Chosen[],
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Map<bigint, string>> {
  const since = from + (to - from) * CARDS_FROM;
  const ids = chosen.filter(({ at }) => at >= since).map(({ ingestionId }) => ingestionId);
  const cards = new Map<bigint, string>();
  for (let at = 0; at < ids.length; at += CHUNK) {
    const found = await transaction((db) => readCards(db, siteId, ids.slice(at, at + CHUNK)));
    for (const [id, card] of found) cards.set(id, card);
  }
  return cards;
}

class FeatureReader {
  readonly #transaction: Transaction;
  readonly #siteId: bigint;
  readonly #chosen: readonly Chosen[];
  #at = 0;

  constructor(transaction: Transaction, siteId: bigint, chosen: readonly Chosen[]) {
    this.#transaction = transaction;
    this.#siteId = siteId;
    this.#chosen = chosen;
  }

  get isDone(): boolean {
    return this.#at >= this.#chosen.length;
  }

  /** The next rows, at least `count` of them unless fewer are left; those of another features version are left out. */
  async next(count: number): Promise<{ of: Chosen; values: readonly number[] }[]> {
    const rows: { of: Chosen; values: readonly number[] }[] = [];
    const until = Math.min(this.#chosen.length, this.#at + count);
    while (this.#at < until) {
      const slice = this.#chosen.slice(this.#at, Math.min(until, this.#at + CHUNK));
      this.#at += slice.length;
      const texts = await this.#transaction((db) => readFeatures(db, this.#siteId, slice));
      for (const of of slice) {
        const values = valuesOf(texts.get(of.ingestionId));
        if (values !== undefined) rows.push({ of, values });
      }
    }
    return rows;
  }
}

/** Undefined where the features were dropped, or stored before they last changed. */
function valuesOf(text: string | undefined): readonly number[] | undefined {
  if (text === undefined) return undefined;
  try {
    return decodeFeatures(text).values;
  } catch (error: unknown) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

class RowStore {
  readonly #edges: Edges;
  readonly #cardOf: ReadonlyMap<bigint, string>;
  readonly #columns: Uint8Array[];
  readonly #labels: Uint8Array;
  readonly #weights: Float64Array;
  readonly #at: Float64Array;
  readonly #answered: Float64Array;
  readonly #cards: string[] = [];
  #count = 0;

  constructor(edges: Edges, most: number, cardOf: ReadonlyMap<bigint, string>) {
    this.#edges = edges;
    this.#cardOf = cardOf;
    // A feature that says nothing needs no column.
    this.#columns = edges.map((each) => new Uint8Array(each.length === 0 ? 0 : most));
    this.#labels = new Uint8Array(most);
    this.#weights = new Float64Array(most);
    this.#at = new Float64Array(most);
    this.#answered = new Float64Array(most);
  }

  add(of: Chosen, values: readonly number[]): void {
    const row = this.#count++;
    for (let feature = 0; feature < this.#edges.length; feature++) {
      const edges = this.#edges[feature] as Float64Array;
      if (edges.length === 0) continue;
      (this.#columns[feature] as Uint8Array)[row] = binOf(edges, values[feature] as number);
    }
    this.#labels[row] = of.isFraud ? 1 : 0;
    this.#weights[row] = of.weight;
    this.#at[row] = of.at;
    this.#answered[row] = of.answered;
    this.#cards.push(this.#cardOf.get(of.ingestionId) ?? '');
  }

  finish(): LearningRows {
    const count = this.#count;
    return {
      edges: this.#edges,
      columns: this.#columns.map((column) => column.subarray(0, Math.min(count, column.length))),
      labels: this.#labels.subarray(0, count),
      weights: this.#weights.subarray(0, count),
      at: this.#at.subarray(0, count),
      answered: this.#answered.subarray(0, count),
      cards: this.#cards,
    };
  }
}
