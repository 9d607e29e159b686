import { setTimeout as sleep } from 'node:timers/promises';
import type { PgBoss } from 'pg-boss';
import { EvaluateJob } from '../contract/jobs.ts';
import { failureKind } from '../ledger/failures.ts';
import { ClaimTurns } from './claim-turns.ts';
import {
  OUTAGE_MS,
  type Claim,
  type ClaimedEvaluation,
  type EvaluationReport,
  type Lane,
} from './evaluation-lane.ts';
import { EVALUATE } from './queues.ts';
import { SiteLanes } from './site-lanes.ts';

/** Jobs of one batch. A larger one shares its statements between more events, and holds the turns of its Sites longer. */
const BATCH = 600;

/** Wait between looks at an empty queue, ms; events accepted by this very process wake the worker at once. */
const POLL_MS = 150;

/**
 * From this many jobs in a batch events come faster than one by one. The next batch then gathers for a while, ms: what a
 * batch costs by itself, whatever its size, is as much as twenty events.
 */
const STREAM = 4;
const GATHER_MS = 80;

/** Batches under way per lane: the one in hand, and the one read ahead. */
const BATCHES_AHEAD = 2;

/** What the worker works with. */
export interface EvaluationWorkerOptions {
  readonly boss: PgBoss;
  /** At least one. */
  readonly lanes: readonly Lane[];
  readonly report: Pick<EvaluationReport, 'fault'>;
}

/**
 * Claims evaluation jobs and deals them to lanes, the events of a Site to one lane. Our own fetch loop instead of pg-boss
 * `work`, whose shortest wait is half a second.
 */
export class EvaluationWorker {
  readonly #options: EvaluationWorkerOptions;
  readonly #turns: ClaimTurns<ClaimedEvaluation>;
  readonly #sites: SiteLanes;
  readonly #size: number;
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  #outage = false;
  #wake: AbortController | undefined;
  #woken = false;
  #loop: Promise<void> | undefined;

  constructor(options: EvaluationWorkerOptions) {
    this.#options = options;
    this.#size = BATCH * options.lanes.length;
    this.#sites = new SiteLanes(options.lanes.length, BATCH);
    this.#turns = new ClaimTurns(
      (batchSize, ignoreGroups) =>
        options.boss.fetch(EVALUATE, {
          batchSize,
          ...(ignoreGroups.length === 0 ? {} : { ignoreGroups: [...ignoreGroups] }),
        }),
      this.#size,
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

  /** Ends when the lanes have settled what they have. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake?.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        this.#woken = false;
        const claims = await this.#claim();
        for (const [index, part] of this.#sites.deal(claims).entries()) this.#hand(index, part);
        const full = claims.length === this.#size;
        // There is probably more: claimed and read while the lanes wait for the database.
        await (full ? this.#room() : Promise.all(this.#underWay));
        if (this.#outage) {
          this.#outage = false;
          await this.#idle(OUTAGE_MS, true);
        } else if (!full) {
          const isStream = claims.length >= STREAM;
          await this.#idle(isStream ? GATHER_MS : POLL_MS, isStream);
        }
      } catch (error: unknown) {
        if (failureKind(error) === 'unforeseen') this.#options.report.fault(error);
        await this.#idle(OUTAGE_MS, true);
      }
    }
    await Promise.all(this.#underWay);
  }

  /** Gives claims to a lane, in batches of about {@link BATCH}. */
  #hand(index: number, claims: readonly Claim[]): void {
    const size = Math.ceil(claims.length / Math.max(1, Math.round(claims.length / BATCH)));
    for (let from = 0; from < claims.length; from += size) {
      const handed = this.#settle(index, claims.slice(from, from + size));
      this.#underWay.add(handed);
      void handed.then(() => this.#underWay.delete(handed));
    }
  }

  async #settle(index: number, batch: readonly Claim[]): Promise<void> {
    const well = await this.#options.lanes[index]?.settle(batch);
    this.#sites.settled(index, batch);
    if (well === false) this.#outage = true;
  }

  /** Resolves when a lane has nothing ahead, unless too much is under way in the others. */
  async #room(): Promise<void> {
    const most = BATCH * BATCHES_AHEAD * this.#options.lanes.length;
    const hasRoom = (): boolean =>
      this.#sites.least <= BATCH * (BATCHES_AHEAD - 1) && this.#sites.total < most;
    while (!hasRoom() && !this.#outage) await Promise.race(this.#underWay);
  }

  async #idle(milliseconds: number, deaf = false): Promise<void> {
    if (this.#stopping.signal.aborted || (this.#woken && !deaf)) return;
    this.#wake = new AbortController();
    const signal = deaf ? this.#stopping.signal : this.#wake.signal;
    await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
    this.#wake = undefined;
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
}
