import { setTimeout as sleep } from 'node:timers/promises';
import type { FetchOptions, PgBoss } from 'pg-boss';
import type { buildConnector } from 'undici';
import { WebhookJob } from '../../contract/jobs.ts';
import { webhookEventIdOf } from '../../contract/webhook.ts';
import type { Clock } from '../../ledger/clock.ts';
import { failureKind } from '../../ledger/failures.ts';
import { SecretUnreadable, type SecretBox } from '../../ledger/secret-box.ts';
import type { Transaction } from '../../ledger/transactions.ts';
import {
  loadDeliveries,
  readEndpoints,
  type ClaimedDelivery,
} from '../../ledger/webhook-claims.ts';
import { createdAtOf, type DeliveryRef } from '../../ledger/webhook-ids.ts';
import {
  deliveryName,
  type DeliveryFailure,
  type DeliveryOutcome,
} from '../../ledger/webhook-outcomes.ts';
import { WEBHOOK } from '../queues.ts';
import {
  FIRST_ROOM,
  Lane,
  LANE_LIMITS,
  type KnownEndpoint,
  type LaneLimits,
  type Traffic,
} from './lane.ts';
import { ATTEMPT_LIMITS, Line, type AttemptLimits } from './line.ts';
import type { Capacity } from './release.ts';
import { settle, type ClaimedJob, type Settlement } from './settle.ts';
import { signedHeaders } from './sign.ts';
import { judgeAttempt } from './verdict.ts';

/** Jobs of one fetch. */
const FETCH = 256;

/** Wait between looks at an empty queue, ms. */
const POLL_MS = 150;

/** Wait after the database failed, ms. */
const OUTAGE_MS = 500;

/** Claims settled in one transaction. */
const SETTLE = 256;

/** Claims in hand: past the first number nothing waits for a slot any more, past the second nothing is fetched. */
const IN_HAND = { comfortable: 2_048, most: 4_096 };

/**
 * What was read about an endpoint counts for this long, ms: by then a replaced secret signs and a disabled endpoint is
 * left alone. Whoever replaces a secret is told the new one only after that (ledger/webhook-secrets.ts).
 */
const FRESH_MS = 500;

/** A success is noted in the endpoint's health at most this often, ms, where nothing else changes. */
const NOTED_MS = 60_000;

/** Attempts under way may finish for this long at a stop, ms. */
const STOP_MS = 4_000;

/** How long settlements wait for a database that went away, ms; the claims stand for 30 s. */
const PATIENCE_MS = 20_000;

/** Attempts at a transaction that another one crossed. */
const CROSSED_ATTEMPTS = 5;

/** Claims of a job without a delivery after which it is dropped: its row may still be on its way. */
const MISSING_ATTEMPTS = 5;

/** A delivery whose secrets cannot be opened is looked at again after this long, s. */
const UNREADABLE_SECONDS = 60;

const CHALLENGE = 'webhook.challenge';

/** What happened to deliveries, for metrics. */
export interface DeliveryReport {
  attempted(outcome: 'delivered' | 'retry' | 'failed', seconds: number): void;
  /** From the event to its delivery, seconds. */
  delivered(lagSeconds: number): void;
  /** Put aside without an attempt. */
  held(count: number): void;
  fault(error: unknown): void;
}

/** What the deliverer works with. */
export interface DelivererOptions {
  readonly boss: PgBoss;
  readonly transaction: Transaction;
  readonly clock: Clock;
  readonly box: SecretBox;
  /** Makes connections; its guard decides where to. */
  readonly connect: buildConnector.connector;
  /** WEBHOOK_RETRY_SECONDS. */
  readonly waits: readonly number[];
  readonly report: DeliveryReport;
  readonly limits?: Partial<AttemptLimits>;
  readonly lanes?: Partial<LaneLimits>;
  /** 0 <= random < 1 */
  readonly random?: () => number;
}

interface Work extends DeliveryRef {
  readonly job: ClaimedJob;
  readonly delivery: ClaimedDelivery;
}

/** What to do with a delivery; `over` where it was delivered, failed or held by somebody else meanwhile. */
function decide({
  endpoint,
  eventId,
  queued,
  state,
  type,
}: ClaimedDelivery): 'send' | 'hold' | 'over' | DeliveryFailure {
  if (state !== 'PENDING' || !queued) return 'over';
  if (endpoint.state === 'DISABLED') return 'ENDPOINT_DISABLED';
  if (type === CHALLENGE) {
    const newest = endpoint.state === 'PENDING' && endpoint.challengeEventId === eventId;
    return newest ? 'send' : 'CHALLENGE_VOID';
  }
  return endpoint.state === 'PENDING' || endpoint.breaker === 'OPEN' ? 'hold' : 'send';
}

/**
 * Claims delivery jobs, makes attempts and writes what came of them, many per transaction. Our own fetch loop: pg-boss
 * `work` holds a batch until its slowest call ends. Each endpoint has a lane of its own; what does not fit there goes
 * back into the database as held, so that the queue keeps moving for everybody else.
 *
 * At least once: a claim that is never settled runs again when it expires, with the same event id.
 */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #limits: AttemptLimits;
  readonly #laneLimits: LaneLimits;
  readonly #stopping = new AbortController();
  readonly #lanes = new Map<bigint, Lane<Work>>();
  readonly #traffic: Traffic = { all: 0, doubtful: 0 };
  /** Lanes with something waiting that only the limits over all lanes keep from starting. */
  readonly #crowded = new Set<Lane<Work>>();
  readonly #lines = new Set<Line>();
  /** Endpoints of which something was held since the last fetch. */
  readonly #holding = new Set<bigint>();
  readonly #settlements: Settlement[] = [];
  #settling: Promise<void> | undefined;
  #inHand = 0;
  #aborted = false;
  #wake: AbortController | undefined;
  #woken = false;
  #loop: Promise<void> | undefined;
  #sweptAt = performance.now();

  constructor(options: DelivererOptions) {
    this.#options = options;
    this.#limits = { ...ATTEMPT_LIMITS, ...options.limits };
    this.#laneLimits = { ...LANE_LIMITS, ...options.lanes };
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

  /** What this process has in hand for an endpoint, and how much more it could take. */
  capacityFor(endpointId: bigint): Capacity {
    const lane = this.#lanes.get(endpointId);
    if (lane === undefined) return { inHand: 0, room: FIRST_ROOM };
    return { inHand: lane.running + lane.waiting, room: lane.room };
  }

  /** Gives back what has not begun, lets attempts finish for four seconds, and writes what came of them. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake?.abort();
    await this.#loop;
    for (const lane of this.#lanes.values()) {
      for (const work of lane.takeExcess(true)) this.#giveBack(work, 0);
    }
    const deadline = performance.now() + STOP_MS;
    while (this.#traffic.all > 0 && performance.now() < deadline) await sleep(20);
    this.#aborted = true;
    for (const line of this.#lines) line.close();
    while (this.#traffic.all > 0) await sleep(5);
    for (const lane of this.#lanes.values()) lane.closeLines();
    await this.#settling;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        this.#woken = false;
        this.#forgetIdleLanes();
        const fetched = this.#inHand < IN_HAND.most ? await this.#claimFairly() : 0;
        // After a full batch there is probably more.
        if (fetched < FETCH) await this.#idle(POLL_MS);
      } catch (error: unknown) {
        if (failureKind(error) === 'unforeseen') this.#options.report.fault(error);
        await this.#idle(OUTAGE_MS, true);
      }
    }
  }

  async #idle(milliseconds: number, deaf = false): Promise<void> {
    if (this.#stopping.signal.aborted || (this.#woken && !deaf)) return;
    this.#wake = new AbortController();
    const signal = deaf ? this.#stopping.signal : this.#wake.signal;
    await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
    this.#wake = undefined;
  }

  /**
   * Claims the oldest jobs. Where some of them had to be held, those behind them are another endpoint's, too: one more
   * fetch leaves the held ones' endpoints out, so that nobody waits until a long backlog is put aside.
   */
  async #claimFairly(): Promise<number> {
    this.#holding.clear();
    const fetched = await this.#claim({ batchSize: FETCH });
    if (this.#holding.size === 0 || fetched < FETCH) return fetched;
    await this.#claim({ batchSize: FETCH, ignoreGroups: [...this.#holding].map(String) });
    return fetched;
  }

  async #claim(options: FetchOptions): Promise<number> {
    const { boss } = this.#options;
    const jobs = (await boss.fetch<unknown>(WEBHOOK, options)) as ClaimedJob[];
    const claims: { job: ClaimedJob; ref: DeliveryRef }[] = [];
    for (const job of jobs) {
      const data = WebhookJob.safeParse(job.data);
      if (data.success) {
        const { site_id, endpoint_id, event_id } = data.data;
        const ref = { siteId: BigInt(site_id), endpointId: BigInt(endpoint_id), eventId: event_id };
        claims.push({ job, ref });
      } else {
        // Not one of ours: it names no delivery.
        await boss.complete(WEBHOOK, [job], { refused: 'not a delivery job' });
      }
    }
    this.#inHand += claims.length;
    try {
      await this.#take(claims);
    } catch (error: unknown) {
      // The claims expire and come back.
      this.#inHand -= claims.length;
      throw error;
    }
    return jobs.length;
  }

  async #take(claims: readonly { job: ClaimedJob; ref: DeliveryRef }[]): Promise<void> {
    if (claims.length === 0) return;
    const readAt = performance.now();
    const { found, unreadable } = await this.#load(claims.map(({ ref }) => ref));
    for (const { job, ref } of claims) {
      const delivery = found.get(deliveryName(ref));
      if (delivery !== undefined) {
        this.#laneOf(ref).known = { endpoint: delivery.endpoint, readAt };
        this.#route({ ...ref, job, delivery });
      } else if (unreadable.has(ref.endpointId))
        this.#giveBack({ ...ref, job }, UNREADABLE_SECONDS);
      else if (job.retryCount < MISSING_ATTEMPTS) this.#giveBackCounted({ ...ref, job });
      else this.#settleLater({ ...ref, job });
    }
  }

  /** Reads deliveries; an endpoint whose secrets cannot be opened does not keep the others from being read. */
  async #load(refs: readonly DeliveryRef[]): Promise<{
    readonly found: Map<string, ClaimedDelivery>;
    readonly unreadable: Set<bigint>;
  }> {
    const found = new Map<string, ClaimedDelivery>();
    const unreadable = new Set<bigint>();
    const read = async (some: readonly DeliveryRef[]): Promise<void> => {
      const { box, clock, transaction } = this.#options;
      const rows = await transaction((db) => loadDeliveries(db, box, some, clock.now()));
      for (const row of rows) found.set(deliveryName(row), row);
    };
    try {
      await read(refs);
    } catch (error: unknown) {
      if (!(error instanceof SecretUnreadable)) throw error;
      this.#options.report.fault(error);
      for (const endpointId of new Set(refs.map((ref) => ref.endpointId))) {
        await read(refs.filter((ref) => ref.endpointId === endpointId)).catch((again: unknown) => {
          if (!(again instanceof SecretUnreadable)) throw again;
          unreadable.add(endpointId);
        });
      }
    }
    return { found, unreadable };
  }

  /** Does with a delivery as it was just read what is to be done. */
  #route(work: Work): void {
    const decision = decide(work.delivery);
    if (decision === 'send') this.#enter(work);
    else if (decision === 'hold') this.#hold(work);
    else if (decision === 'over') this.#settleLater(work);
    else this.#fail(work, decision);
  }

  /** Starts an attempt, has it wait for its endpoint, or holds it. */
  #enter(work: Work): void {
    const lane = this.#laneOf(work);
    lane.learn(work.delivery.endpoint, this.#options.clock.now());
    if (lane.waiting === 0 && lane.hasRoom()) this.#start(lane, work);
    else if (this.#inHand < IN_HAND.comfortable && lane.hasWaitingRoom()) {
      lane.wait(work);
      if (lane.running === 0) this.#crowded.add(lane);
    } else this.#hold(work);
  }

  #laneOf({ endpointId }: DeliveryRef): Lane<Work> {
    let lane = this.#lanes.get(endpointId);
    if (lane === undefined) {
      lane = new Lane<Work>(this.#laneLimits, this.#traffic);
      this.#lanes.set(endpointId, lane);
    }
    return lane;
  }

  #start(lane: Lane<Work>, work: Work): void {
    lane.begin(work);
    // Never rejects: an attempt's failure is its result.
    void this.#attempt(lane, work).then(() => this.#startWaiting(lane));
  }

  async #attempt(lane: Lane<Work>, work: Work): Promise<void> {
    const { clock, report } = this.#options;
    try {
      const fresh = await this.#freshen(lane, work);
      if (fresh === undefined) {
        lane.end(work);
        return;
      }
      const attemptedAt = clock.now();
      const answer = await this.#post(lane, fresh, attemptedAt);
      if (this.#aborted && answer.status === undefined) {
        lane.end(work);
        this.#giveBack(fresh, 0);
        return;
      }
      const { outcome, gone } = judgeAttempt(fresh.delivery, answer, attemptedAt, {
        now: clock.now(),
        waits: this.#options.waits,
        random: this.#random(),
      });
      lane.end(work, {
        delivered: outcome.state === 'DELIVERED',
        durationMs: answer.durationMs,
      });
      const seconds = answer.durationMs / 1000;
      report.attempted(
        outcome.state === 'PENDING' ? 'retry' : outcome.state === 'FAILED' ? 'failed' : 'delivered',
        seconds,
      );
      this.#settleLater({
        ...fresh,
        outcome,
        gone,
        urlVersion: fresh.delivery.endpoint.urlVersion,
        challenge: fresh.delivery.type === CHALLENGE,
        healthWanted: this.#wantsHealth(fresh.delivery, attemptedAt),
      });
    } catch (error: unknown) {
      // A fault of ours, or a database that is away: the claim expires and the delivery is tried again.
      lane.end(work);
      this.#inHand -= 1;
      if (failureKind(error) === 'unforeseen') report.fault(error);
    }
  }

  /** Signs with what the endpoint's secrets are now; undefined where the delivery is not to be sent now. */
  async #freshen(lane: Lane<Work>, work: Work): Promise<Work | undefined> {
    const stale = lane.known === undefined || performance.now() - lane.known.readAt >= FRESH_MS;
    const known = stale
      ? await (lane.reading ??= this.#readEndpoint(lane, work.endpointId))
      : lane.known;
    if (known === undefined) {
      this.#giveBack(work, UNREADABLE_SECONDS);
      return undefined;
    }
    const { endpoint } = known;
    const fresh = { ...work, delivery: { ...work.delivery, endpoint } };
    if (decide(fresh.delivery) === 'send') return fresh;
    this.#route(fresh);
    return undefined;
  }

  /** @returns undefined where there is no such endpoint, or its secrets cannot be opened */
  async #readEndpoint(lane: Lane<Work>, endpointId: bigint): Promise<KnownEndpoint | undefined> {
    const { box, clock, report, transaction } = this.#options;
    const readAt = performance.now();
    try {
      const read = await transaction((db) => readEndpoints(db, box, [endpointId], clock.now()));
      const endpoint = read.get(endpointId);
      lane.known = endpoint === undefined ? undefined : { endpoint, readAt };
    } catch (error: unknown) {
      if (!(error instanceof SecretUnreadable)) throw error;
      report.fault(error);
      lane.known = undefined;
    } finally {
      lane.reading = undefined;
    }
    return lane.known;
  }

  async #post(lane: Lane<Work>, { delivery }: Work, at: number): ReturnType<Line['post']> {
    const { secrets } = delivery.endpoint;
    if (secrets === undefined) throw new TypeError('an endpoint without a secret');
    const url = new URL(delivery.endpoint.url);
    const parts = { eventId: webhookEventIdOf(delivery.eventId), body: delivery.body, at };
    const headers = [
      'content-type',
      'application/json',
      'user-agent',
      'transaction-risk-webhooks/1',
      ...signedHeaders(parts, secrets),
    ];
    const path = `${url.pathname}${url.search}`;
    const send = async (line: Line): ReturnType<Line['post']> => {
      this.#lines.add(line);
      const answer = await line.post(path, headers, delivery.body);
      this.#lines.delete(line);
      lane.giveLine(url.origin, line);
      return answer;
    };
    const open = lane.takeLine(url.origin);
    if (open?.reused === true) {
      const answer = await send(open);
      // The receiver closed an idle connection at this very moment; that is no failure of its.
      if (answer.failure !== 'RESET' || this.#aborted) return answer;
    }
    const connect = this.#options.connect;
    return send(open?.usable === true ? open : new Line(url.origin, connect, this.#limits));
  }

  #startWaiting(lane: Lane<Work>): void {
    if (this.#stopping.signal.aborted) return;
    for (const work of lane.takeExcess()) this.#hold(work);
    this.#startNext(lane);
    if (lane.waiting > 0 && lane.running === 0) this.#crowded.add(lane);
    for (const other of this.#crowded) {
      this.#startNext(other);
      if (other.waiting === 0 || other.running > 0) this.#crowded.delete(other);
    }
  }

  #startNext(lane: Lane<Work>): void {
    for (let work = lane.next(); work !== undefined; work = lane.next()) this.#start(lane, work);
  }

  #wantsHealth({ endpoint }: ClaimedDelivery, at: number): boolean {
    return (
      endpoint.failuresInRow > 0 ||
      endpoint.breaker !== 'CLOSED' ||
      at - (endpoint.lastSuccessAt ?? 0) > NOTED_MS
    );
  }

  #outcomeOf(
    work: Work,
    state: 'PENDING' | 'FAILED',
    failure: DeliveryFailure | undefined,
  ): DeliveryOutcome {
    return {
      siteId: work.siteId,
      endpointId: work.endpointId,
      eventId: work.eventId,
      attemptsSeen: work.delivery.attempts,
      state,
      step: work.delivery.step,
      nextAttemptAt: undefined,
      failure,
      attempt: undefined,
    };
  }

  #hold(work: Work): void {
    this.#holding.add(work.endpointId);
    this.#settleLater({ ...work, outcome: this.#outcomeOf(work, 'PENDING', undefined) });
  }

  #fail(work: Work, failure: DeliveryFailure): void {
    this.#settleLater({ ...work, outcome: this.#outcomeOf(work, 'FAILED', failure) });
  }

  #giveBack(claim: DeliveryRef & { readonly job: ClaimedJob }, seconds: number): void {
    this.#settleLater({ ...claim, backInSeconds: seconds });
  }

  /** Back to pg-boss, which counts how often that happened. */
  #giveBackCounted(claim: DeliveryRef & { readonly job: ClaimedJob }): void {
    this.#inHand -= 1;
    this.#options.boss.fail(WEBHOOK, [claim.job], { missing: true }).catch((error: unknown) => {
      if (failureKind(error) === 'unforeseen') this.#options.report.fault(error);
    });
  }

  #settleLater(settlement: Settlement): void {
    this.#settlements.push(settlement);
    this.#settling ??= this.#settleAll().finally(() => (this.#settling = undefined));
  }

  /** While one transaction is under way the next batch gathers. */
  async #settleAll(): Promise<void> {
    // Whatever ends at the same moment shares a transaction.
    await sleep(1);
    while (this.#settlements.length > 0) {
      const batch = this.#settlements.splice(0, SETTLE);
      await this.#settleBatch(batch);
      this.#inHand -= batch.length;
    }
  }

  async #settleBatch(batch: readonly Settlement[]): Promise<void> {
    const { boss, clock, report, transaction } = this.#options;
    const begun = performance.now();
    for (let attempt = 1; ;) {
      try {
        const now = clock.now();
        const moved = await transaction((db) => settle(db, boss, batch, now, this.#random()));
        this.#reportSettled(batch, moved, now);
        return;
      } catch (error: unknown) {
        const kind = failureKind(error);
        if (kind === 'unavailable') {
          // Past that the claims have expired: another worker makes the attempts again.
          if (performance.now() - begun > PATIENCE_MS || this.#aborted) return;
          await sleep(OUTAGE_MS);
        } else if (kind === 'retryable' && attempt < CROSSED_ATTEMPTS) attempt += 1;
        else if (batch.length > 1) {
          for (const settlement of batch) await this.#settleBatch([settlement]);
          return;
        } else {
          report.fault(error);
          return;
        }
      }
    }
  }

  #reportSettled(batch: readonly Settlement[], moved: ReadonlySet<string>, now: number): void {
    const { report } = this.#options;
    let held = 0;
    for (const settlement of batch) {
      const { outcome } = settlement;
      if (outcome === undefined || !moved.has(deliveryName(settlement))) continue;
      if (outcome.state === 'DELIVERED' && settlement.challenge !== true) {
        report.delivered(Math.max(0, now - createdAtOf(settlement.eventId)) / 1000);
      }
      if (outcome.state === 'PENDING' && outcome.nextAttemptAt === undefined) held += 1;
    }
    if (held > 0) report.held(held);
  }

  #forgetIdleLanes(): void {
    const now = performance.now();
    if (now - this.#sweptAt < 10_000) return;
    this.#sweptAt = now;
    for (const [endpointId, lane] of this.#lanes) {
      if (!lane.isIdle(now)) continue;
      lane.closeLines();
      this.#lanes.delete(endpointId);
    }
  }

  #random(): number {
    return (this.#options.random ?? Math.random)();
  }
}
