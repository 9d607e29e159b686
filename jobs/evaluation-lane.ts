import { setTimeout as sleep } from 'node:timers/promises';
import { fromKysely, type Job, type PgBoss } from 'pg-boss';
import type { Clock } from '../ledger/clock.ts';
import type { Db } from '../ledger/database.ts';
import { StateMoved } from '../ledger/entity-states.ts';
import { openDeadLetter, recordFailedAttempt } from '../ledger/failed-attempts.ts';
import { failureKind } from '../ledger/failures.ts';
import type { BatchRow, LedgerRef } from '../ledger/load-batch.ts';
import type { Transaction } from '../ledger/transactions.ts';
import { attemptErrorOf } from './attempt-error.ts';
import type { ClaimedJob } from './claim-turns.ts';
import {
  judgeBatch,
  readBatch,
  type BatchOutcome,
  type BatchParts,
  type LoadedBatch,
} from './evaluate-batch.ts';
import { KnownStates } from './known-states.ts';
import { EVALUATE } from './queues.ts';

/** Wait after the database failed, ms. */
export const OUTAGE_MS = 500;

/** How long a claimed batch waits for a database that went away, ms; less than the queue lets a claim stand. */
const PATIENCE_MS = 12_000;

/** The longest pause between two batches for the sake of ingestion, ms. */
const LONGEST_YIELD_MS = 1_000;

/** Attempts at a batch that another worker crossed, before its jobs are settled one by one. */
const CROSSED_ATTEMPTS = 5;

/** What happened to events, for metrics. */
export interface EvaluationReport {
  judged(rows: readonly Pick<BatchRow, 'siteId' | 'receivedAt'>[], now: number): void;
  failed(dead: boolean): void;
  fault(error: unknown): void;
}

/** Writes what else a new dead letter brings about (a webhook event), in the transaction that opened it. */
export type GaveUp = (db: Db, ref: LedgerRef, now: number) => Promise<void>;

/** What a lane works with. */
export interface EvaluationLaneOptions extends BatchParts {
  readonly boss: PgBoss;
  readonly transaction: Transaction;
  readonly clock: Clock;
  /** Failed attempts after which an event is dead: the first one and this many more. */
  readonly retryLimit: number;
  readonly gaveUp: GaveUp;
  readonly report: EvaluationReport;
  /** The share of the time, above 0 and at most 1, that evaluations may take now; asked after each batch. */
  readonly share?: () => number;
}

/** A claimed job as pg-boss hands it out. */
export type ClaimedEvaluation = Job<unknown> & ClaimedJob;

/** A claimed job and the ledger row that it names; plain data. */
export interface Claim {
  readonly job: ClaimedEvaluation;
  readonly ref: LedgerRef;
}

/** Settles claimed jobs in the order in which it gets them, on this thread or on another one. */
export interface Lane {
  /** Whether the database let it: claims that could not be settled run out by themselves. Never rejects. */
  settle(claims: readonly Claim[]): Promise<boolean>;
}

/** A claim was given to another worker meanwhile: nothing of this attempt may be kept. */
class ClaimLost extends Error {
  override name = 'ClaimLost';
}

/**
 * Settles claimed evaluation jobs: result, states and completed jobs in one transaction, so an evaluation happens once
 * whatever crashes. While a batch waits for the database the next one is read already.
 */
export class EvaluationLane implements Lane {
  readonly #options: EvaluationLaneOptions;
  readonly #known = new KnownStates();
  readonly #stopping = new AbortController();
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: EvaluationLaneOptions) {
    this.#options = options;
  }

  settle(claims: readonly Claim[]): Promise<boolean> {
    const claimedAt = performance.now();
    const refs = claims.map(({ ref }) => ref);
    // Claims must not be lost with it: what cannot be read now is read again when it is judged.
    const read = this.#options.transaction((db) => readBatch(db, refs)).catch(() => undefined);
    const settled = this.#last.then(async () => {
      try {
        await this.#settleYielding(claims, claimedAt, await read);
        return true;
      } catch (error: unknown) {
        if (failureKind(error) === 'unforeseen') this.#options.report.fault(error);
        return false;
      }
    });
    this.#last = settled;
    return settled;
  }

  /** Has no more patience with a database that is away, and makes no more pauses. */
  hurry(): void {
    this.#stopping.abort();
  }

  /** Ends when it has settled what it has. */
  async stop(): Promise<void> {
    this.hurry();
    await this.#last;
  }

  async #settleYielding(
    claims: readonly Claim[],
    claimedAt: number,
    read: LoadedBatch | undefined,
  ): Promise<void> {
    const began = performance.now();
    await this.#settle(claims, claimedAt, read);
    const share = this.#options.share?.() ?? 1;
    if (share >= 1) return;
    const took = performance.now() - began;
    await this.#pause(Math.min(LONGEST_YIELD_MS, took / share - took));
  }

  async #pause(milliseconds: number): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    await sleep(milliseconds, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  async #settle(claims: readonly Claim[], claimedAt: number, ahead?: LoadedBatch): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { outcome, now } = await this.#evaluate(claims, attempt === 1 ? ahead : undefined);
        this.#options.report.judged(outcome.judged, now);
        for (const { ref, error } of outcome.failed) {
          const claim = claims.find(({ ref: known }) => known.ingestionId === ref.ingestionId);
          if (claim !== undefined) await this.#fail(claim, error);
        }
        return;
      } catch (error: unknown) {
        this.#known.clear();
        const kind = failureKind(error);
        if (kind === 'unavailable') {
          const patient = performance.now() - claimedAt < PATIENCE_MS;
          if (!patient || this.#stopping.signal.aborted) throw error;
          // The claims are still ours: given back now they would wait out their time instead.
          await this.#pause(OUTAGE_MS);
          attempt -= 1;
          continue;
        }
        const crossed = error instanceof StateMoved || kind === 'retryable';
        if (crossed && attempt < CROSSED_ATTEMPTS) continue;
        if (claims.length > 1) {
          for (const claim of claims) await this.#settle([claim], claimedAt);
        } else if (!(error instanceof ClaimLost) && claims[0] !== undefined) {
          await this.#fail(claims[0], error);
        }
        return;
      }
    }
  }

  #evaluate(
    claims: readonly Claim[],
    ahead: LoadedBatch | undefined,
  ): Promise<{ outcome: BatchOutcome; now: number }> {
    const { clock, transaction } = this.#options;
    const jobs = new Map(claims.map(({ job, ref }) => [ref.ingestionId, job]));
    return transaction(async (db) => {
      const now = clock.now();
      const batch =
        ahead ??
        (await readBatch(
          db,
          claims.map(({ ref }) => ref),
        ));
      const outcome = await judgeBatch(db, batch, now, {
        ...this.#options,
        known: this.#known,
        settle: (within, refs) =>
          this.#settleJobs(
            within,
            refs.flatMap((ref) => jobs.get(ref.ingestionId) ?? []),
          ),
      });
      return { outcome, now };
    });
  }

  /**
   * Removes the jobs of settled events. Their results say all there is to say: kept for hours, finished jobs would be
   * most of a table that is scanned every few seconds (docs/decisions/0008-evaluation-worker.md).
   */
  async #settleJobs(db: Db, jobs: readonly Claim['job'][]): Promise<void> {
    if (jobs.length === 0) return;
    // The jobs, not their ids: only so is it bound to this very claim.
    const { affected } = (await this.#options.boss.deleteJob(EVALUATE, [...jobs], {
      db: fromKysely(db),
    })) as { affected?: number };
    if (affected !== jobs.length) throw new ClaimLost();
  }

  /** One more failed attempt: tried again later, or, past the limit, a dead letter; each in one transaction. */
  async #fail({ job, ref }: Claim, error: unknown): Promise<void> {
    const { boss, clock, retryLimit, transaction } = this.#options;
    const reason = attemptErrorOf(error);
    const dead = await transaction(async (db) => {
      const now = clock.now();
      const attempts = await recordFailedAttempt(db, ref, reason, now);
      const last = attempts > retryLimit;
      const output = { error: reason.errorClass, place: reason.errorPlace, attempt: attempts };
      if (last) {
        const letter = { cause: reason.errorClass, attempts, deadAt: now };
        if (await openDeadLetter(db, ref, letter)) await this.#options.gaveUp(db, ref, now);
        await boss.complete(
          EVALUATE,
          [job],
          { ...output, dead_letter: true },
          { db: fromKysely(db) },
        );
      } else {
        await boss.fail(EVALUATE, [job], output, { db: fromKysely(db) });
      }
      return last;
    });
    this.#options.report.failed(dead);
  }
}
