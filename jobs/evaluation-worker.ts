import { setTimeout as sleep } from 'node:timers/promises';
import { fromKysely, type Job, type PgBoss } from 'pg-boss';
import { EvaluateJob } from '../contract/jobs.ts';
import type { Clock } from '../ledger/clock.ts';
import type { Db } from '../ledger/database.ts';
import { StateMoved } from '../ledger/entity-states.ts';
import { openDeadLetter, recordFailedAttempt } from '../ledger/failed-attempts.ts';
import { failureKind } from '../ledger/failures.ts';
import type { BatchRow, LedgerRef } from '../ledger/load-batch.ts';
import type { Transaction } from '../ledger/transactions.ts';
import { attemptErrorOf } from './attempt-error.ts';
import { ClaimTurns, type ClaimedJob } from './claim-turns.ts';
import {
  judgeBatch,
  readBatch,
  type BatchOutcome,
  type BatchParts,
  type LoadedBatch,
} from './evaluate-batch.ts';
import { KnownStates } from './known-states.ts';
import { EVALUATE } from './queues.ts';

/** Jobs of one batch. A larger one shares its statements between more events, and holds the turns of its Sites longer. */
const BATCH = 400;

/** Wait between looks at an empty queue, ms; events accepted by this very process wake the worker at once. */
const POLL_MS = 150;

/**
 * From this many jobs in a batch events come faster than one by one. The next batch then gathers for a while, ms: what a
 * batch costs by itself, whatever its size, is as much as twenty events.
 */
const STREAM = 4;
const GATHER_MS = 80;

/** Wait after the database failed, ms. */
const OUTAGE_MS = 500;

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

/** What the worker works with. */
export interface EvaluationWorkerOptions extends BatchParts {
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

type ClaimedEvaluation = Job<unknown> & ClaimedJob & { retryCount: number };

interface Claim {
  readonly job: ClaimedEvaluation;
  readonly ref: LedgerRef;
}

/** Claimed jobs, read ahead where that went well. */
interface Taken {
  readonly claims: readonly Claim[];
  readonly batch: LoadedBatch | undefined;
  /** By `performance.now()`. */
  readonly at: number;
}

/** A claim was given to another worker meanwhile: nothing of this attempt may be kept. */
class ClaimLost extends Error {
  override name = 'ClaimLost';
}

/**
 * Claims evaluation jobs and settles them: result, states and completed jobs in one transaction, so an evaluation
 * happens once whatever crashes. Our own fetch loop instead of pg-boss `work`, whose shortest wait is half a second.
 */
export class EvaluationWorker {
  readonly #options: EvaluationWorkerOptions;
  readonly #turns: ClaimTurns<ClaimedEvaluation>;
  readonly #known = new KnownStates();
  readonly #stopping = new AbortController();
  #wake: AbortController | undefined;
  #woken = false;
  #loop: Promise<void> | undefined;

  constructor(options: EvaluationWorkerOptions) {
    this.#options = options;
    this.#turns = new ClaimTurns(
      (batchSize, ignoreGroups) =>
        options.boss.fetch(EVALUATE, {
          batchSize,
          ...(ignoreGroups.length === 0 ? {} : { ignoreGroups: [...ignoreGroups] }),
        }),
      BATCH,
    );
  }

  /** Begins to claim jobs. */
  start(): void {
    this.#loop ??= this.#run();
  }

  /** Looks at the queue now instead of at the next poll. */
  wake(): void {
    this.#woken = true;
    this.#wake?.abort();
  }

  /** Settles the batch in hand and ends. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake?.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    let ahead: Promise<Taken> | undefined;
    while (!this.#stopping.signal.aborted || ahead !== undefined) {
      try {
        this.#woken = false;
        const next = ahead ?? this.#take();
        ahead = undefined;
        const taken = await next;
        const full = taken.claims.length === BATCH;
        if (full && !this.#stopping.signal.aborted) {
          // There is probably more: claimed and read while this batch waits for the database.
          ahead = this.#take();
          ahead.catch(() => undefined);
        }
        if (taken.claims.length > 0) await this.#settleYielding(taken);
        if (full) continue;
        const isStream = taken.claims.length >= STREAM;
        await this.#idle(isStream ? GATHER_MS : POLL_MS, isStream);
      } catch (error: unknown) {
        if (failureKind(error) === 'unforeseen') this.#options.report.fault(error);
        await this.#idle(OUTAGE_MS, true);
      }
    }
  }

  async #settleYielding(taken: Taken): Promise<void> {
    const began = performance.now();
    await this.#settle(taken.claims, taken.at, taken.batch);
    const share = this.#options.share?.() ?? 1;
    if (share >= 1) return;
    const took = performance.now() - began;
    await this.#idle(Math.min(LONGEST_YIELD_MS, took / share - took), true);
  }

  async #idle(milliseconds: number, deaf = false): Promise<void> {
    if (this.#stopping.signal.aborted || (this.#woken && !deaf)) return;
    this.#wake = new AbortController();
    const signal = deaf ? this.#stopping.signal : this.#wake.signal;
    await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
    this.#wake = undefined;
  }

  async #take(): Promise<Taken> {
    const claims = await this.#claim();
    const at = performance.now();
    if (claims.length === 0) return { claims, batch: undefined, at };
    const refs = claims.map(({ ref }) => ref);
    // Claims must not be lost with it: what cannot be read now is read again when it is judged.
    const batch = await this.#options
      .transaction((db) => readBatch(db, refs))
      .catch(() => undefined);
    return { claims, batch, at };
  }

  async #claim(): Promise<Claim[]> {
    const { boss } = this.#options;
    const jobs = await this.#turns.next();
    const claims: Claim[] = [];
    for (const job of jobs) {
      const data = EvaluateJob.safeParse(job.data);
      if (data.success) {
        const { site_id, ingestion_id } = data.data;
        claims.push({ job, ref: { siteId: BigInt(site_id), ingestionId: BigInt(ingestion_id) } });
      } else {
        // Not one of ours: nothing can ever evaluate it, and no ledger row waits for it.
        await boss.complete(EVALUATE, [job], { refused: 'not an evaluation job' });
      }
    }
    return claims;
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
          await this.#idle(OUTAGE_MS, true);
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
