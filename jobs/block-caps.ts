import { addBlockCounts, forgetBlockCounts, noteCapped } from '../ledger/block-counts.ts';
import type { Db } from '../ledger/database.ts';
import { raiseOperatorEvent } from '../ledger/operator-events.ts';
import type { BlockCap, Judgement } from '../risk/index.ts';

const HOUR_MS = 3_600_000;

/** Stands for all events among the ids of rules. */
const ALL = '';

type Counts = Map<string, number>;
type CountsBySite = Map<bigint, Counts>;

/** What a batch sees of a Site's caps while it is judged. */
export interface CapsOfBatch {
  /** The rules that block no more, asked before each event. */
  capped(): ReadonlySet<string>;
  /** Counts an event for those behind it. */
  note(judgement: Pick<Judgement, 'blockedBy'>): void;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Counts, per Site and UTC hour, how many events each rule has blocked, and says which have reached their cap. Kept in
 * memory and shared with the other workers once a second, so that no event pays for it: several workers may together go
 * over a cap by what they judge within that second.
 */
export class BlockCaps {
  #hour = 0;
  /** What all workers have counted, as it was last read. */
  #shared: CountsBySite = new Map();
  /** What is not shared yet. */
  #own: CountsBySite = new Map();
  /** What is being shared right now. */
  #leaving: CountsBySite = new Map();
  readonly #held = new Map<string, { siteId: bigint; ruleId: string; hour: number }>();
  readonly #told = new Set<string>();

  /** Begins a batch of a Site. What it counts is forgotten unless its events are {@link count}ed. */
  begin(siteId: bigint, { share, least }: BlockCap, now: number): CapsOfBatch {
    this.#turnTo(now);
    const sums: Counts = new Map();
    for (const counts of [this.#shared, this.#leaving, this.#own]) {
      for (const [ruleId, events] of counts.get(siteId) ?? []) add(sums, ruleId, events);
    }
    const blocking = new Set([...sums.keys()].filter((ruleId) => ruleId !== ALL));
    return {
      capped() {
        if (blocking.size === 0 || share >= 1) return NONE;
        const most = Math.max(least, share * (sums.get(ALL) ?? 0));
        let capped: Set<string> | undefined;
        for (const ruleId of blocking) {
          if ((sums.get(ruleId) ?? 0) >= most) (capped ??= new Set()).add(ruleId);
        }
        return capped ?? NONE;
      },
      note({ blockedBy }) {
        add(sums, ALL, 1);
        if (blockedBy === undefined) return;
        add(sums, blockedBy, 1);
        blocking.add(blockedBy);
      },
    };
  }

  /** Counts an event whose result is being stored. */
  count(siteId: bigint, { blockedBy, risk }: Judgement, now: number): void {
    this.#turnTo(now);
    const counts = this.#own.get(siteId) ?? new Map<string, number>();
    this.#own.set(siteId, counts);
    add(counts, ALL, 1);
    if (blockedBy !== undefined) add(counts, blockedBy, 1);
    for (const name of Object.keys(risk.rule_scores)) {
      if (!name.startsWith('cap_')) continue;
      const ruleId = name.slice('cap_'.length);
      const held = `${siteId}/${ruleId}/${this.#hour}`;
      if (!this.#told.has(held)) this.#held.set(held, { siteId, ruleId, hour: this.#hour });
    }
  }

  /** Shares the counts with the other workers, and tells operators of rules that a cap holds back, once an hour. */
  async share(transaction: <T>(work: (db: Db) => Promise<T>) => Promise<T>, now: number) {
    this.#turnTo(now);
    if (this.#own.size === 0) return;
    const sites = [...this.#own.keys()];
    const hour = this.#hour;
    const held = [...this.#held];
    this.#leaving = this.#own;
    this.#own = new Map();
    try {
      const sums = await transaction(async (db) => {
        const added = [...this.#leaving].flatMap(([siteId, counts]) =>
          [...counts].map(([ruleId, events]) => ({ siteId, ruleId, events })),
        );
        for (const [, one] of held) {
          if (!(await noteCapped(db, { ...one, at: now }))) continue;
          await raiseOperatorEvent(db, {
            siteId: one.siteId,
            kind: 'rule_capped',
            subject: `rule ${one.ruleId}`,
            detail: { hour: new Date(one.hour).toISOString() },
            at: now,
          });
        }
        return addBlockCounts(db, hour, added, sites);
      });
      if (this.#hour === hour) {
        for (const siteId of sites) this.#shared.set(siteId, new Map());
        for (const { siteId, ruleId, events } of sums) {
          this.#shared.get(siteId)?.set(ruleId, events);
        }
      }
      for (const [name] of held) {
        this.#held.delete(name);
        this.#told.add(name);
      }
    } catch (error: unknown) {
      for (const [siteId, counts] of this.#leaving) {
        const own = this.#own.get(siteId) ?? new Map<string, number>();
        this.#own.set(siteId, own);
        for (const [ruleId, events] of counts) add(own, ruleId, events);
      }
      throw error;
    } finally {
      this.#leaving = new Map();
    }
  }

  /** Removes what was shared in hours long over. */
  forget(db: Db, now: number): Promise<void> {
    return forgetBlockCounts(db, now);
  }

  /** Every hour counts afresh; what was not shared of the one before decides nothing any more. */
  #turnTo(now: number): void {
    const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
    if (hour === this.#hour) return;
    this.#hour = hour;
    this.#shared = new Map();
    this.#own = new Map();
    this.#leaving = new Map();
    this.#told.clear();
  }
}

function add(counts: Counts, ruleId: string, events: number): void {
  counts.set(ruleId, (counts.get(ruleId) ?? 0) + events);
}
