import {
  readCandidates,
  readCards,
  readFeatures,
  type CandidatePage,
  type EvaluationColumns,
} from '../../ledger/training-rows.ts';
import type { LedgerPlace } from '../../ledger/ledger-place.ts';
import type { Transaction } from '../../ledger/transactions.ts';
import { decodeFeaturesInto, FEATURES } from '../../risk/index.ts';
import { findEdges, type Edges } from '../../risk/model/bins.ts';
import { validatedFrom, type LearningRows } from '../../risk/model/learn.ts';
import { PaymentSample, type ChosenPayments } from './payment-sample.ts';
import { RowStore } from './row-store.ts';

/** Rows learned from at most, a byte for each feature: 275 MB outside the heap. All frauds are among them. */
export const MOST_ROWS = 600_000;

/** Frauds and genuine payments in which the bins' edges are looked for, at most so many of each. */
const EDGE_ROWS = 20_000;

/** Payments of one read: what is read is garbage before a collection has to carry it on. */
const CHUNK = 250;

/** How rows are read. */
export interface ReadingOptions {
  readonly mostRows: number;
  /** Gets the share that is done, 0 to 1. */
  readonly onProgress: (share: number) => void;
  /** Called after each read; may pause, for the sake of whoever shares the machine. */
  readonly rest: () => void;
}

/**
 * Reads what a model learns from, in the order of acceptance: the frauds of the period and as many genuine payments as there
 * is room for, chosen by a digest of their ids, with the features stored when they were judged. The same ledger gives the
 * same rows.
 */
export async function readLearningRows(
  transaction: Transaction,
  siteId: bigint,
  period: { readonly from: number; readonly to: number },
  { mostRows, onProgress, rest }: ReadingOptions,
): Promise<LearningRows> {
  const reading = { transaction, siteId, rest };
  const sample = await choose(reading, period, mostRows);
  const chosen = sample.finish();
  onProgress(0.2);
  const edges = await findEdgesIn(reading, chosen, sample.places(EDGE_ROWS, EDGE_ROWS));
  onProgress(0.3);
  const store = new RowStore(edges, chosen.count);
  await eachVector(reading, chosen, (place, values) => {
    store.add(chosen, place, values);
    onProgress(0.3 + (place / chosen.count) * 0.6);
  });
  const { rows, ids } = store.finish();
  return { ...rows, cards: await cardsOf(reading, rows.at, ids) };
}

interface Reading {
  readonly transaction: Transaction;
  readonly siteId: bigint;
  readonly rest: () => void;
}

async function choose(
  { transaction, siteId, rest }: Reading,
  period: { readonly from: number; readonly to: number },
  mostRows: number,
): Promise<PaymentSample> {
  const sample = new PaymentSample(mostRows);
  let after: LedgerPlace | undefined;
  do {
    const page: CandidatePage = await transaction((db) =>
      readCandidates(db, siteId, period, after),
    );
    for (const row of page.rows) sample.add(row);
    after = page.next;
    rest();
  } while (after !== undefined);
  return sample;
}

async function findEdgesIn(
  reading: Reading,
  chosen: ChosenPayments,
  places: Uint32Array,
): Promise<Edges> {
  const columns = FEATURES.map(() => new Float64Array(places.length));
  let count = 0;
  const some = {
    ids: BigInt64Array.from(places, (place) => chosen.ids[place] as bigint),
    evaluatedAt: Float64Array.from(places, (place) => chosen.evaluatedAt[place] as number),
  };
  await eachVector(reading, some, (_, values) => {
    for (let feature = 0; feature < columns.length; feature++) {
      (columns[feature] as Float64Array)[count] = values[feature] as number;
    }
    count += 1;
  });
  return findEdges(columns.map((column) => column.subarray(0, count)));
}

/**
 * Reads the features of payments, in their order, into one row that is overwritten by the next. Left out are those whose
 * features were dropped, or stored before features last changed.
 */
async function eachVector(
  { transaction, siteId, rest }: Reading,
  { ids, evaluatedAt }: EvaluationColumns,
  onVector: (place: number, values: Float64Array) => void,
): Promise<void> {
  const values = new Float64Array(FEATURES.length);
  for (let from = 0; from < ids.length; from += CHUNK) {
    const chunk = {
      ids: ids.subarray(from, from + CHUNK),
      evaluatedAt: evaluatedAt.subarray(from, from + CHUNK),
    };
    const texts = await transaction((db) => readFeatures(db, siteId, chunk));
    for (const [index, text] of texts.entries()) {
      if (text !== undefined && isDecoded(text, values)) onVector(from + index, values);
    }
    rest();
  }
}

function isDecoded(text: string, values: Float64Array): boolean {
  try {
    decodeFeaturesInto(text, values);
    return true;
  } catch (error: unknown) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Only validation asks for cards. */
async function cardsOf(
  { transaction, siteId, rest }: Reading,
  at: Float64Array,
  ids: BigInt64Array,
): Promise<string[]> {
  const cards = Array.from(ids, () => '');
  const since = validatedFrom(at);
  const places = Uint32Array.from(ids.keys()).filter((place) => (at[place] as number) >= since);
  for (let from = 0; from < places.length; from += CHUNK) {
    const chunk = places.subarray(from, from + CHUNK);
    const wanted = BigInt64Array.from(chunk, (place) => ids[place] as bigint);
    const found = await transaction((db) => readCards(db, siteId, wanted));
    for (const [index, card] of found.entries()) cards[chunk[index] as number] = card;
    rest();
  }
  return cards;
}
