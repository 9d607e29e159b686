/** A job as it was claimed; the group is the Site it belongs to, null for one that an older version queued. */
export interface ClaimedJob {
  readonly groupId?: string | null;
}

/** Claims the oldest jobs, at most `size`, none of the Sites in `passedOver`. */
export type FetchJobs<J> = (size: number, passedOver: readonly string[]) => Promise<J[]>;

/** Share of what is still free in a batch that goes to those who wait behind a crowd. */
const SHARE_OF_OTHERS = 0.75;

/** Crowds told apart at once: the largest backlogs. */
const MOST_CROWDS = 3;

/** Least time between two looks past a crowd, ms, and that time in lengths of a look: it reads over all that waits. */
const LOOK_MS = 100;
const LOOKS = 2;

/**
 * Decides which jobs a worker claims next. First come, first served, until one Site fills batch after batch: its jobs are
 * then a crowd, and a few times a second those of other Sites are looked for behind it and come first. Within a Site the
 * oldest always comes first. Kept per worker, so it needs nothing shared and costs nothing without a backlog.
 */
export class ClaimTurns<J extends ClaimedJob> {
  readonly #fetch: FetchJobs<J>;
  readonly #size: number;
  /** The largest backlog first. */
  #crowds: string[] = [];
  #nextLook = 0;

  /** @param size  jobs of one batch */
  constructor(fetch: FetchJobs<J>, size: number) {
    this.#fetch = fetch;
    this.#size = size;
  }

  /** Claims the next batch: shorter than full only where nothing more waits. */
  async next(): Promise<J[]> {
    const claimed: J[] = [];
    const began = performance.now();
    if (this.#crowds.length > 0 && began >= this.#nextLook) {
      // From behind all crowds to behind the first: whoever waits for the least comes first.
      for (let behind = this.#crowds.length; behind > 0; behind -= 1) {
        const size = Math.ceil((this.#size - claimed.length) * SHARE_OF_OTHERS);
        const others = await this.#fetch(size, this.#crowds.slice(0, behind));
        claimed.push(...others);
        if (others.length < size) this.#crowds.length = behind;
        else if (behind === this.#crowds.length) this.#noteCrowd(others);
      }
      const took = performance.now() - began;
      this.#nextLook = performance.now() + Math.max(LOOK_MS, took * LOOKS);
    }
    const free = this.#size - claimed.length;
    const oldest = await this.#fetch(free, []);
    const isCrowded = oldest.length === free && mostOf(oldest) !== undefined;
    if (!isCrowded) this.#crowds = [];
    else if (mostOf(oldest) !== this.#crowds[0]) {
      this.#crowds = [];
      this.#noteCrowd(oldest);
    }
    claimed.push(...oldest);
    return claimed;
  }

  #noteCrowd(jobs: readonly J[]): void {
    const site = mostOf(jobs);
    if (site === undefined || this.#crowds.length >= MOST_CROWDS) return;
    if (!this.#crowds.includes(site)) this.#crowds.push(site);
  }
}

/** The Site that at least half of the jobs belong to. */
function mostOf(jobs: readonly ClaimedJob[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { groupId } of jobs) {
    if (typeof groupId === 'string') counts.set(groupId, (counts.get(groupId) ?? 0) + 1);
  }
  for (const [site, count] of counts) if (count * 2 >= jobs.length) return site;
  return undefined;
}
