import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../contract/errors.ts';
import {
  acceptanceOf,
  commitKnown,
  freshGroup,
  type CommitOptions,
  type EnqueueEvaluations,
  type Settlement,
} from './commit-group.ts';
import { isContested } from './contested.ts';
import type { Db } from './database.ts';
import { failureKind } from './failures.ts';
import type { IdSource } from './ids.ts';
import type { Numbered } from './ingest-statements.ts';
import { StandingQueue } from './standing-queue.ts';
import type { Acceptance, Submission } from './submission.ts';
import { nextDecisions, type Admission, type RateDecision } from './rate-window.ts';
import type { OneTrip, Transaction } from './transactions.ts';

/** Bounds of the queue. Past them a submission is refused at once, so memory stays flat under any offered load. */
export interface IngestLimits {
  /** Rows and bytes of one group at most. */
  readonly groupRows: number;
  readonly groupBytes: number;
  /** Submissions and bytes waiting or in flight at most. */
  readonly queuedRows: number;
  readonly queuedBytes: number;
  /** Groups in flight at once. */
  readonly lanes: number;
  /** How long a submission may be expected to wait, ms, at the rate of the last full groups; longer in a burst. */
  readonly waitMs: number;
}

/** Measured on two cores: docs/decisions/0002-group-commit.md. */
export const INGEST_LIMITS: IngestLimits = {
  groupRows: 256,
  groupBytes: 2 * 1024 * 1024,
  queuedRows: 1_024,
  queuedBytes: 32 * 1024 * 1024,
  lanes: 1,
  waitMs: 20,
};

/** Rows from which on a group tells the rate of a busy queue; smaller ones are mostly waiting for the disk. */
const TELLING_ROWS = 32;

/** Submissions that may wait however slow the last groups were, and the share of the bytes that may. */
const ROOM_AT_LEAST = 128;
const STANDING_BYTES = 0.6;

/**
 * Lanes beside the first, for a service with little to do: a lone event need not wait for the disk to write another one.
 * With more rows in flight than this a larger group costs less than a second one.
 */
const SPARE_LANES = 2;
const SPARE_ROWS = 4;

/** What a group commit reports, for metrics: never what was in it. */
export interface GroupReport {
  readonly rows: number;
  readonly bytes: number;
  readonly milliseconds: number;
}

/** What the queue works with. */
export interface IngestQueueOptions {
  /** Runs work in one transaction; rolls back when it throws. */
  readonly transaction: Transaction;
  /** The same for statements that need no answer of each other. */
  readonly oneTrip: OneTrip;
  /** Admits one request by itself, where its group could not. */
  readonly admit: (credentialId: bigint) => Promise<RateDecision>;
  readonly ids: IdSource;
  readonly pool: () => Db;
  readonly enqueue: EnqueueEvaluations;
  readonly now: () => number;
  readonly limits?: Partial<IngestLimits>;
  readonly onGroup?: (report: GroupReport) => void;
  readonly onFault?: (error: unknown) => void;
  readonly onAccepted?: () => void;
}

interface Waiting {
  readonly submission: Submission;
  readonly admission: Admission | undefined;
  readonly bytes: number;
  ingestionId: bigint | undefined;
  /** Something may be stored under its key or id: the group looks before it inserts. */
  suspect: boolean;
  resolve(acceptance: Acceptance): void;
  reject(error: unknown): void;
}

/** Attempts of one group before its members are told to come back: races settle in two or three. */
const ATTEMPTS = 8;

/** Seconds a caller is asked to wait when the database or the queue cannot take it. */
const RETRY_AFTER_SECONDS = 1;

/**
 * Group commit: while one transaction is in flight the next group gathers, so an idle service adds no wait and a busy
 * one pays a commit for hundreds of requests. See docs/decisions/0002-group-commit.md.
 */
export class IngestQueue {
  readonly #options: IngestQueueOptions;
  readonly #limits: IngestLimits;
  readonly #waiting: Waiting[] = [];
  #queuedRows = 0;
  #queuedBytes = 0;
  #busyLanes = 0;
  /** True while a lane waits for the turn of the event loop to end before it takes a group. */
  #gathering = false;
  #rowsInFlight = 0;
  #closed = false;
  #idle: (() => void) | undefined;
  /** Rows per ms while busy, averaged over the last dozen groups. */
  #rate = Number.POSITIVE_INFINITY;
  readonly #standing = new StandingQueue();

  constructor(options: IngestQueueOptions) {
    this.#options = options;
    this.#limits = { ...INGEST_LIMITS, ...options.limits };
  }

  /** Submissions waiting or in flight, and their bytes. */
  get load(): { readonly rows: number; readonly bytes: number } {
    return { rows: this.#queuedRows, bytes: this.#queuedBytes };
  }

  /** True while a further submission would be refused. */
  get isFull(): boolean {
    if (this.#closed) return true;
    const { queuedBytes, queuedRows, waitMs } = this.#limits;
    if (this.#queuedRows >= queuedRows || this.#queuedBytes >= queuedBytes) return true;
    const isLong =
      this.#queuedRows >= Math.max(ROOM_AT_LEAST, this.#rate * waitMs) ||
      this.#queuedBytes >= queuedBytes * STANDING_BYTES;
    return this.#standing.refuses(isLong, performance.now());
  }

  /**
   * Resolves once the submission is committed together with its evaluation job.
   *
   * @param admission of a request that the rate limit has not admitted yet: decided here, before anything is answered
   *   but INGESTION_UNAVAILABLE
   * @throws Refusal: RATE_LIMITED, IDEMPOTENCY_CONFLICT, API_QUOTA_EXCEEDED, INGESTION_UNAVAILABLE (also when a commit's result is
   *   unknown: repeating with the same key is safe), CONTRACT_VALIDATION_FAILED if the database cannot hold the data
   */
  submit(submission: Submission, admission?: Admission): Promise<Acceptance> {
    const bytes = Buffer.byteLength(submission.body) + 1_024;
    if (this.isFull) {
      return Promise.reject(unavailable());
    }
    this.#queuedRows += 1;
    this.#queuedBytes += bytes;
    return new Promise<Acceptance>((resolve, reject) => {
      const leave = (): void => {
        this.#queuedRows -= 1;
        this.#queuedBytes -= bytes;
        if (this.#queuedRows === 0) this.#idle?.();
      };
      this.#waiting.push({
        submission,
        admission,
        bytes,
        ingestionId: undefined,
        suspect: false,
        resolve: (acceptance) => {
          leave();
          resolve(acceptance);
        },
        reject: (error) => {
          leave();
          reject(error instanceof Error ? error : new Error('submission failed'));
        },
      });
      this.#startLanes();
    });
  }

  /** Refuses new submissions and waits until the accepted ones are settled. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#queuedRows === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  #startLanes(): void {
    while (!this.#gathering && this.#waiting.length > 0 && this.#hasLaneFor(this.#busyLanes + 1)) {
      this.#busyLanes += 1;
      void this.#runLane();
    }
  }

  /** Whether as many lanes may be busy: more than one only while what is in flight is small. */
  #hasLaneFor(busy: number): boolean {
    const { lanes } = this.#limits;
    return busy <= lanes || (busy <= lanes + SPARE_LANES && this.#rowsInFlight <= SPARE_ROWS);
  }

  async #runLane(): Promise<void> {
    // Requests of the same turn of the event loop belong into the same group.
    this.#gathering = true;
    await new Promise((resolve) => setImmediate(resolve));
    this.#gathering = false;
    // The answers of a group are given while the next one is on its way: the database need not wait for them.
    let answer: () => void = nothing;
    while (this.#waiting.length > 0 && this.#hasLaneFor(this.#busyLanes)) {
      const last = answer;
      answer = nothing;
      const group = this.#takeGroup();
      this.#rowsInFlight += group.length;
      answer = await this.#settleGroup(group, last);
      this.#rowsInFlight -= group.length;
    }
    answer();
    this.#busyLanes -= 1;
  }

  #takeGroup(): Waiting[] {
    let rows = 0;
    let bytes = 0;
    for (const item of this.#waiting) {
      if (rows === this.#limits.groupRows) break;
      if (rows > 0 && bytes + item.bytes > this.#limits.groupBytes) break;
      rows += 1;
      bytes += item.bytes;
    }
    return this.#waiting.splice(0, rows);
  }

  /**
   * Commits a group and returns what gives its answers.
   *
   * @param onSent called once, as soon as there is nothing to do but wait for the database
   */
  async #settleGroup(group: Waiting[], onSent: () => void): Promise<() => void> {
    const started = performance.now();
    const sent = once(onSent);
    try {
      const settlements = await this.#commit(group, sent);
      this.#noteRate(group.length, started);
      this.#options.onGroup?.({
        rows: group.length,
        bytes: group.reduce((sum, item) => sum + item.bytes, 0),
        milliseconds: performance.now() - started,
      });
      return this.#answersOf(group, settlements);
    } catch (error: unknown) {
      sent();
      await this.#settleFailure(group, error);
      return nothing;
    }
  }

  /** Keeps the rate of a busy queue: what is refused past its wait must follow the machine, not a fixed number. */
  #noteRate(rows: number, started: number): void {
    if (rows < TELLING_ROWS) return;
    const rate = (rows / Math.max(1, performance.now() - started)) * this.#limits.lanes;
    this.#rate = Number.isFinite(this.#rate) ? this.#rate * 0.9 + rate * 0.1 : rate;
  }

  async #commit(group: readonly Waiting[], onSent: () => void): Promise<Settlement[]> {
    let known = group.some((item) => item.suspect);
    if (known) onSent();
    const items = await this.#number(group);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const options = { now: this.#options.now(), enqueue: this.#options.enqueue };
        return known
          ? await this.#commitKnown(group, items, options)
          : await this.#commitFresh(group, items, options, onSent);
      } catch (error: unknown) {
        onSent();
        const contested = isContested(error);
        const kind = contested ? 'retryable' : failureKind(error);
        // A connection lost once may be a restart of the server; the attempt may even have been committed, which
        // looking first finds out.
        const again = kind === 'retryable' || (kind === 'unavailable' && attempt === 1);
        if (!again || attempt >= ATTEMPTS) throw error;
        if (!contested || known) await sleep(attempt * 5 * Math.random());
        known = true;
      }
    }
  }

  async #commitFresh(
    group: readonly Waiting[],
    items: readonly Numbered[],
    options: CommitOptions,
    onSent: () => void,
  ): Promise<Settlement[]> {
    const { statements, fresh, write } = freshGroup(
      items,
      (index) => isAdmitted(group[index]),
      options,
    );
    const decide = nextDecisions(await this.#options.oneTrip(statements, write, onSent));
    const settlements: Settlement[] = items.map(() => 'again');
    for (const index of fresh) {
      const item = items[index];
      const admission = group[index]?.admission;
      if (item === undefined) continue;
      if (admission !== undefined) admission.decision ??= decide(admission.credentialId);
      settlements[index] = acceptanceOf(item);
    }
    return settlements;
  }

  async #commitKnown(
    group: readonly Waiting[],
    items: readonly Numbered[],
    options: CommitOptions,
  ): Promise<Settlement[]> {
    await Promise.all(group.map(({ admission }) => this.#admit(admission)));
    const settlements: Settlement[] = group.map(({ admission }) => refusalOf(admission) ?? 'again');
    const going = items.filter((_, index) => settlements[index] === 'again');
    if (going.length === 0) return settlements;
    const committed = await this.#options.transaction((db) => commitKnown(db, going, options));
    return settlements.map((settlement) =>
      settlement === 'again' ? (committed.shift() ?? 'again') : settlement,
    );
  }

  async #admit(admission: Admission | undefined): Promise<void> {
    if (admission !== undefined) {
      admission.decision ??= await this.#options.admit(admission.credentialId);
    }
  }

  async #number(group: readonly Waiting[]): Promise<Numbered[]> {
    const without = group.filter((item) => item.ingestionId === undefined);
    const ids = await this.#options.ids.take(this.#options.pool(), without.length);
    for (const [index, item] of without.entries()) item.ingestionId = ids[index];
    return group.map((item) => ({ ...item.submission, ingestionId: item.ingestionId ?? 0n }));
  }

  /** Takes back what must be tried again; returns what answers the others. */
  #answersOf(group: readonly Waiting[], settlements: readonly Settlement[]): () => void {
    const again = group.filter((_, index) => (settlements[index] ?? 'again') === 'again');
    for (const item of again) item.suspect = true;
    this.#waiting.unshift(...again);
    return () => {
      let accepted = false;
      for (const [index, item] of group.entries()) {
        const settlement = settlements[index] ?? 'again';
        if (settlement === 'again') continue;
        if (settlement instanceof Refusal) {
          item.reject(settlement);
        } else {
          accepted ||= !settlement.replayed;
          item.resolve(settlement);
        }
      }
      if (accepted) this.#options.onAccepted?.();
    };
  }

  /** A value the database refuses is found by halving the group, so that its neighbours are accepted. */
  async #settleFailure(group: Waiting[], error: unknown): Promise<void> {
    const kind = isContested(error) ? 'retryable' : failureKind(error);
    if (kind === 'refused-data' && group.length > 1) {
      const half = Math.ceil(group.length / 2);
      for (const part of [group.slice(0, half), group.slice(half)]) {
        const answer = await this.#settleGroup(part, nothing);
        answer();
      }
      return;
    }
    if (kind === 'unforeseen') this.#options.onFault?.(error);
    for (const item of group) {
      item.reject(
        kind === 'refused-data'
          ? new Refusal('CONTRACT_VALIDATION_FAILED', {
              details: ['body: holds a value that cannot be stored'],
            })
          : kind === 'unforeseen'
            ? new Refusal('INTERNAL_ERROR', { cause: error })
            : unavailable(error),
      );
    }
  }
}

const nothing = (): void => undefined;

function once(call: () => void): () => void {
  let called = false;
  return () => {
    if (!called) call();
    called = true;
  };
}

const isAdmitted = (item: Waiting | undefined): boolean =>
  item?.admission === undefined || item.admission.decision !== undefined;

function refusalOf(admission: Admission | undefined): Refusal | undefined {
  const decision = admission?.decision;
  if (decision === undefined || decision.admitted) return undefined;
  return new Refusal('RATE_LIMITED', { retryAfterSeconds: decision.resetSeconds });
}

/** The refusal of everything that cannot be stored right now. */
export function unavailable(cause?: unknown): Refusal {
  return new Refusal('INGESTION_UNAVAILABLE', { retryAfterSeconds: RETRY_AFTER_SECONDS, cause });
}
