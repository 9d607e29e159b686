import { binOf, type Edges } from '../../risk/model/bins.ts';
import type { LearningRows } from '../../risk/model/learn.ts';
import type { ChosenPayments } from './payment-sample.ts';

/** Rows as learning gets them, but for the cards. */
export type StoredRows = Omit<LearningRows, 'cards'>;

/** Cuts features into bins, row by row, into columns outside the heap. */
export class RowStore {
  readonly #edges: Edges;
  /** Features that say something, and the bin of a zero, the commonest value by far. */
  readonly #telling: readonly number[];
  readonly #zeros: Uint8Array;
  readonly #columns: readonly Uint8Array[];
  readonly #labels: Uint8Array;
  readonly #weights: Float64Array;
  readonly #at: Float64Array;
  readonly #answered: Float64Array;
  readonly #ids: BigInt64Array;
  #count = 0;

  constructor(edges: Edges, most: number) {
    this.#edges = edges;
    this.#telling = edges.flatMap(({ length }, feature) => (length === 0 ? [] : [feature]));
    this.#zeros = Uint8Array.from(edges, (each) => binOf(each, 0));
    // A feature that says nothing needs no column.
    this.#columns = edges.map((each) => new Uint8Array(each.length === 0 ? 0 : most));
    this.#labels = new Uint8Array(most);
    this.#weights = new Float64Array(most);
    this.#at = new Float64Array(most);
    this.#answered = new Float64Array(most);
    this.#ids = new BigInt64Array(most);
  }

  /** The payment at a place of those chosen, with its features. */
  add(payments: ChosenPayments, place: number, values: Float64Array): void {
    const row = this.#count++;
    for (const feature of this.#telling) {
      const value = values[feature] as number;
      const bin =
        value === 0
          ? (this.#zeros[feature] as number)
          : binOf(this.#edges[feature] as Float64Array, value);
      (this.#columns[feature] as Uint8Array)[row] = bin;
    }
    const label = payments.isFraud[place] as number;
    this.#labels[row] = label;
    this.#weights[row] = label === 1 ? payments.weights.fraud : payments.weights.genuine;
    this.#at[row] = payments.at[place] as number;
    this.#answered[row] = payments.answered[place] as number;
    this.#ids[row] = payments.ids[place] as bigint;
  }

  /** What was added, and the id of each row. */
  finish(): { readonly rows: StoredRows; readonly ids: BigInt64Array } {
    const count = this.#count;
    return {
      rows: {
        edges: this.#edges,
        columns: this.#columns.map((column) => column.subarray(0, Math.min(count, column.length))),
        labels: this.#labels.subarray(0, count),
        weights: this.#weights.subarray(0, count),
        at: this.#at.subarray(0, count),
        answered: this.#answered.subarray(0, count),
      },
      ids: this.#ids.subarray(0, count),
    };
  }
}
