import type { TrainingCandidate } from '../../ledger/training-rows.ts';

/** Chosen payments in the order in which they came, column by column: as objects half a million of them fill the heap. */
export interface ChosenPayments {
  readonly count: number;
  readonly ids: BigInt64Array;
  /** Times in ms since 1970 UTC, as of {@link TrainingCandidate}. */
  readonly at: Float64Array;
  readonly evaluatedAt: Float64Array;
  readonly answered: Float64Array;
  readonly isFraud: Uint8Array;
  /** How many payments of the stream a fraud and a genuine one stand for. */
  readonly weights: { readonly fraud: number; readonly genuine: number };
}

/** Frauds are at most this share of what is chosen: nothing is learned without the others. */
const FRAUD_SHARE = 0.5;

/**
 * Chooses from payments that come in a fixed order: every fraud, and as many genuine ones as there is room for, those with
 * the lowest digests of their ids. No more than twice as many are held however many come.
 */
export class PaymentSample {
  readonly #most: number;
  readonly #ids: BigInt64Array;
  /** The same ids in halves; the order of the halves does not matter to a digest. */
  readonly #halves: Uint32Array;
  readonly #at: Float64Array;
  readonly #evaluatedAt: Float64Array;
  readonly #answered: Float64Array;
  readonly #isFraud: Uint8Array;
  #count = 0;
  #seen = { fraud: 0, genuine: 0 };

  constructor(most: number) {
    const room = Math.max(2, 2 * most);
    this.#most = most;
    this.#ids = new BigInt64Array(room);
    this.#halves = new Uint32Array(this.#ids.buffer);
    this.#at = new Float64Array(room);
    this.#evaluatedAt = new Float64Array(room);
    this.#answered = new Float64Array(room);
    this.#isFraud = new Uint8Array(room);
  }

  add(payment: TrainingCandidate): void {
    if (this.#count === this.#ids.length) this.#thin();
    const place = this.#count++;
    this.#ids[place] = payment.ingestionId;
    this.#at[place] = payment.at;
    this.#evaluatedAt[place] = payment.evaluatedAt;
    this.#answered[place] = payment.answered;
    this.#isFraud[place] = payment.isFraud ? 1 : 0;
    if (payment.isFraud) this.#seen.fraud += 1;
    else this.#seen.genuine += 1;
  }

  finish(): ChosenPayments {
    if (this.#seen.fraud + this.#seen.genuine > this.#most) this.#thin();
    const count = this.#count;
    const frauds = this.#countOf(1);
    return {
      count,
      ids: this.#ids.subarray(0, count),
      at: this.#at.subarray(0, count),
      evaluatedAt: this.#evaluatedAt.subarray(0, count),
      answered: this.#answered.subarray(0, count),
      isFraud: this.#isFraud.subarray(0, count),
      weights: {
        fraud: frauds === 0 ? 1 : this.#seen.fraud / frauds,
        genuine: frauds === count ? 1 : this.#seen.genuine / (count - frauds),
      },
    };
  }

  /** Places of so many frauds and so many genuine payments among those chosen, ascending. */
  places(frauds: number, genuine: number): Uint32Array {
    const marks = new Uint8Array(this.#count);
    this.#mark(marks, 1, frauds);
    this.#mark(marks, 0, genuine);
    return Uint32Array.from(marks.keys()).filter((place) => marks[place] === 1);
  }

  #thin(): void {
    const frauds = Math.min(this.#countOf(1), Math.floor(this.#most * FRAUD_SHARE));
    const kept = this.places(frauds, this.#most - frauds);
    for (const column of [this.#at, this.#evaluatedAt, this.#answered, this.#isFraud]) {
      for (const [to, place] of kept.entries()) column[to] = column[place] as number;
    }
    for (const [to, place] of kept.entries()) this.#ids[to] = this.#ids[place] as bigint;
    this.#count = kept.length;
  }

  /** Marks those of a kind with the lowest digests; of equal digests the earlier one. */
  #mark(marks: Uint8Array, kind: 0 | 1, room: number): void {
    if (room < 1) return;
    const digests = new Uint32Array(this.#countOf(kind));
    let count = 0;
    for (let place = 0; place < marks.length; place++) {
      if (this.#isFraud[place] === kind) digests[count++] = this.#digest(place);
    }
    const last = digests.sort()[Math.min(room, count) - 1] ?? 0;
    let below = 0;
    while (below < count && (digests[below] as number) < last) below++;
    let equals = room - below;
    for (let place = 0; place < marks.length; place++) {
      if (this.#isFraud[place] !== kind) continue;
      const digest = this.#digest(place);
      if (digest < last || (digest === last && equals-- > 0)) marks[place] = 1;
    }
  }

  #countOf(kind: 0 | 1): number {
    let frauds = 0;
    for (let place = 0; place < this.#count; place++) frauds += this.#isFraud[place] as number;
    return kind === 1 ? frauds : this.#count - frauds;
  }

  /** 32 well-mixed bits of an id. */
  #digest(place: number): number {
    let mixed = (this.#halves[2 * place] as number) ^ (this.#halves[2 * place + 1] as number);
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  }
}
