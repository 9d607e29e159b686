import type { ClaimedEndpoint } from '../../ledger/webhook-claims.ts';
import type { Line } from './line.ts';

/** How many attempts may run at once in one process. */
export interface LaneLimits {
  /** To all endpoints. */
  readonly all: number;
  /** To all endpoints that fail, answer slowly or have not answered yet: they can never take the others' room. */
  readonly doubtful: number;
  /** To one endpoint that answers fast. */
  readonly perEndpoint: number;
  /** To one that answers slowly. */
  readonly perSlowEndpoint: number;
}

export const LANE_LIMITS: LaneLimits = {
  all: 1_024,
  doubtful: 512,
  perEndpoint: 64,
  perSlowEndpoint: 16,
};

/** An answer later than this is slow, ms. */
const SLOW_MS = 1_000;

/** Attempts at once to an endpoint that has not answered yet. */
const FIRST_SLOTS = 2;

/** Failures in a row after which an endpoint gets one attempt at a time. */
const FAILING_AFTER = 3;

/** Deliveries that an endpoint without a lane is sent at once, of those that were held. */
export const FIRST_ROOM = 64;

/** A delivery waits for a slot at most about this long, ms; a claim stands for 30 s, of which an attempt may take 11. */
const WAIT_MS = 5_000;

const WAITING = { least: 4, most: 512 };

/** An endpoint that answered within this time, ms, and has not failed since, is expected to answer. */
const TRUSTED_MS = 86_400_000;

/** A lane that nobody used for this long is forgotten, ms. */
const IDLE_MS = 60_000;

/** Attempts under way, over all lanes of a process. */
export interface Traffic {
  all: number;
  doubtful: number;
}

/** An endpoint as it was read, and when (performance.now()). */
export interface KnownEndpoint {
  readonly endpoint: ClaimedEndpoint;
  readonly readAt: number;
}

/** The answer to an attempt, as far as the lane learns from it. */
export interface Lesson {
  readonly delivered: boolean;
  readonly durationMs: number;
}

/**
 * One endpoint in one process: its slots, its open lines and what waits for them. Slots grow by one with every fast
 * success and are halved by every failure, so that an endpoint is sent what it can take.
 */
export class Lane<Item> {
  /** Newest reading of the endpoint; an attempt is signed with what it says. */
  known: KnownEndpoint | undefined;
  /** A reading under way, shared by all that wait for it. */
  reading: Promise<KnownEndpoint | undefined> | undefined;
  readonly #limits: LaneLimits;
  readonly #traffic: Traffic;
  readonly #waiting: Item[] = [];
  /** Start of each attempt under way (performance.now()), and whether it was counted as doubtful. */
  readonly #running = new Map<Item, { readonly at: number; readonly doubtful: boolean }>();
  #lines: Line[] = [];
  #origin = '';
  #slots = FIRST_SLOTS;
  #answers = 0;
  #isTrusted = false;
  #failuresInRow = 0;
  #typicalMs = 100;
  #usedAt = performance.now();

  constructor(limits: LaneLimits, traffic: Traffic) {
    this.#limits = limits;
    this.#traffic = traffic;
  }

  get running(): number {
    return this.#running.size;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** True when nothing has happened here for a while. */
  isIdle(now = performance.now()): boolean {
    return this.#running.size === 0 && this.#waiting.length === 0 && now - this.#usedAt > IDLE_MS;
  }

  /** What other processes have seen, and this one before it was started: `now` in ms since 1970 UTC. */
  learn({ failuresInRow, lastSuccessAt }: ClaimedEndpoint, now: number): void {
    this.#failuresInRow = Math.max(this.#failuresInRow, failuresInRow);
    this.#isTrusted = failuresInRow === 0 && now - (lastSuccessAt ?? 0) < TRUSTED_MS;
  }

  /** True when one more attempt may start now. */
  hasRoom(now = performance.now()): boolean {
    const doubtful = this.#isDoubtful(now);
    if (this.#traffic.all >= this.#limits.all) return false;
    if (doubtful && this.#traffic.doubtful >= this.#limits.doubtful) return false;
    return this.#running.size < this.#slotsNow(now);
  }

  /** True when one more delivery may wait for a slot here; otherwise it is better held in the database. */
  hasWaitingRoom(): boolean {
    return this.#waiting.length < this.#waitingRoom();
  }

  /** How many more deliveries would find a place here now, to run or to wait. */
  get room(): number {
    const slots = this.#slotsNow(performance.now());
    return Math.max(0, slots + this.#waitingRoom() - this.running - this.waiting);
  }

  wait(item: Item): void {
    this.#usedAt = performance.now();
    this.#waiting.push(item);
  }

  /** The next that waits, if an attempt may start. */
  next(): Item | undefined {
    return this.#waiting.length > 0 && this.hasRoom() ? this.#waiting.shift() : undefined;
  }

  /** Takes out what would wait too long since the endpoint has become slower; all of it when asked. */
  takeExcess(all = false): Item[] {
    return this.#waiting.splice(all ? 0 : this.#waitingRoom());
  }

  begin(item: Item): void {
    const at = performance.now();
    const doubtful = this.#isDoubtful(at);
    this.#usedAt = at;
    this.#running.set(item, { at, doubtful });
    this.#traffic.all += 1;
    if (doubtful) this.#traffic.doubtful += 1;
  }

  /** Ends an attempt; without a lesson where none was made. */
  end(item: Item, lesson?: Lesson): void {
    const run = this.#running.get(item);
    if (run === undefined) return;
    this.#running.delete(item);
    this.#usedAt = performance.now();
    this.#traffic.all -= 1;
    if (run.doubtful) this.#traffic.doubtful -= 1;
    if (lesson === undefined) return;
    this.#answers += 1;
    this.#failuresInRow = lesson.delivered ? 0 : this.#failuresInRow + 1;
    this.#typicalMs += (lesson.durationMs - this.#typicalMs) * 0.2;
    if (!lesson.delivered) this.#slots = Math.max(1, Math.floor(this.#slots / 2));
    else {
      const fast = lesson.durationMs < SLOW_MS;
      const most = fast ? this.#limits.perEndpoint : this.#limits.perSlowEndpoint;
      if (this.#slots < most) this.#slots += 1;
    }
  }

  /** An open line to the origin, where there is one. Lines to another origin are closed. */
  takeLine(origin: string): Line | undefined {
    if (origin !== this.#origin) {
      this.closeLines();
      this.#origin = origin;
    }
    return this.#lines.pop();
  }

  /** Keeps a line for the next attempt. */
  giveLine(origin: string, line: Line): void {
    if (line.usable && origin === this.#origin) this.#lines.push(line);
    else line.close();
  }

  closeLines(): void {
    for (const line of this.#lines) line.close();
    this.#lines = [];
  }

  #isFailing(): boolean {
    return this.#failuresInRow >= FAILING_AFTER;
  }

  #isDoubtful(now: number): boolean {
    const unknown = this.#answers === 0 && !this.#isTrusted;
    return unknown || this.#isFailing() || this.#typicalMs >= SLOW_MS || this.#hangs(now);
  }

  /** True when the oldest attempt under way has had no answer for too long. */
  #hangs(now: number): boolean {
    // Insertion order is the order of their starts.
    const oldest = this.#running.values().next().value;
    return oldest !== undefined && now - oldest.at > SLOW_MS;
  }

  #slotsNow(now: number): number {
    if (this.#isFailing()) return 1;
    return this.#hangs(now) && this.#typicalMs < SLOW_MS
      ? Math.min(this.#slots, FIRST_SLOTS)
      : this.#slots;
  }

  #waitingRoom(): number {
    if (this.#isFailing()) return WAITING.least;
    const bearable = Math.floor((this.#slots * WAIT_MS) / Math.max(1, this.#typicalMs));
    return Math.min(Math.max(bearable, WAITING.least), WAITING.most);
  }
}
