/** What is dealt: something of a Site. */
interface OfSite {
  readonly ref: { readonly siteId: bigint };
}

/** Where a Site's events go, and how many of them are under way there. */
interface Place {
  lane: number;
  underWay: number;
}

/** Sites remembered; with more than these all are dealt afresh. */
const MOST_SITES = 100_000;

/**
 * Deals events to lanes, those of one Site to one lane: a Site is judged by one worker at a time anyway, and a lane
 * remembers what it wrote about it (known-states.ts). A Site of which nothing is under way moves when its lane has fallen
 * behind another one.
 */
export class SiteLanes {
  readonly #loads: number[];
  readonly #behind: number;
  readonly #places = new Map<bigint, Place>();

  /** @param behind  so many events more under way than elsewhere are a lane that has fallen behind */
  constructor(lanes: number, behind: number) {
    this.#loads = Array.from({ length: lanes }, () => 0);
    this.#behind = behind;
  }

  /** Events under way in all lanes. */
  get total(): number {
    return this.#loads.reduce((sum, load) => sum + load, 0);
  }

  /** Events under way in the lane that has fewest. */
  get least(): number {
    return Math.min(...this.#loads);
  }

  /** By lane, in the order given; all of it is under way from now on. */
  deal<T extends OfSite>(items: readonly T[]): T[][] {
    const dealt: T[][] = this.#loads.map(() => []);
    for (const [siteId, events] of Map.groupBy(items, ({ ref }) => ref.siteId)) {
      const place = this.#placeOf(siteId);
      place.underWay += events.length;
      this.#loads[place.lane] = (this.#loads[place.lane] as number) + events.length;
    }
    for (const item of items) dealt[this.#placeOf(item.ref.siteId).lane]?.push(item);
    return dealt;
  }

  /** What was dealt to a lane is no longer under way. */
  settled(lane: number, items: readonly OfSite[]): void {
    this.#loads[lane] = (this.#loads[lane] as number) - items.length;
    for (const { ref } of items) {
      const place = this.#places.get(ref.siteId);
      if (place !== undefined) place.underWay -= 1;
    }
  }

  #placeOf(siteId: bigint): Place {
    const known = this.#places.get(siteId);
    if (known !== undefined && known.underWay > 0) return known;
    const least = this.least;
    const free = this.#loads.indexOf(least);
    if (known === undefined) {
      const place = { lane: free, underWay: 0 };
      this.#forgetIdle();
      this.#places.set(siteId, place);
      return place;
    }
    if ((this.#loads[known.lane] as number) - least > this.#behind) known.lane = free;
    return known;
  }

  /** Sites with events under way keep their place: their order depends on it. */
  #forgetIdle(): void {
    if (this.#places.size < MOST_SITES) return;
    for (const [siteId, { underWay }] of this.#places) {
      if (underWay === 0) this.#places.delete(siteId);
    }
  }
}
