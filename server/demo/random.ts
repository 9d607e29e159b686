import { hash } from 'node:crypto';

/**
 * Chance that can be repeated: the same seed always draws the same numbers. Each part of the traffic forks a source
 * of its own, so that a change in one part leaves the others as they were.
 */
export class Random {
  readonly #seed: string;
  #state: number;

  constructor(seed: string) {
    this.#seed = seed;
    this.#state = Number.parseInt(hash('sha256', seed, 'hex').slice(0, 8), 16);
  }

  /** A source of its own, determined by this one's seed and the name alone. */
  fork(name: string): Random {
    return new Random(`${this.#seed}/${name}`);
  }

  /** Uniform in [0, 1). Source: mulberry32, 32 bits of state; good enough to invent shoppers with. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Uniform in [from, to). */
  between(from: number, to: number): number {
    return from + this.next() * (to - from);
  }

  /** A whole number, uniform in from..to inclusive. */
  whole(from: number, to: number): number {
    return Math.floor(this.between(from, to + 1));
  }

  /** One of the items; all equally likely. @throws RangeError for an empty list */
  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.next() * items.length)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  }

  /** One of the items, as likely as its weight says. @throws RangeError for an empty list */
  weighted<Item>(items: readonly Item[], weightOf: (item: Item, index: number) => number): Item {
    const total = items.reduce((sum, item, index) => sum + weightOf(item, index), 0);
    let left = this.next() * total;
    for (const [index, item] of items.entries()) {
      left -= weightOf(item, index);
      if (left < 0) return item;
    }
    const last = items.at(-1);
    if (last === undefined) throw new RangeError('nothing to pick from');
    return last;
  }

  /** Log-normal with this median; `sigma` is the deviation of its logarithm. Amounts and delays look like it. */
  logNormal(median: number, sigma: number): number {
    // Box-Muller; 1 - next() keeps the logarithm finite.
    const normal = Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
    return median * Math.exp(sigma * normal);
  }
}
