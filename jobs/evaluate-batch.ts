import type { TransactionEvent } from '../contract/transaction.ts';
import type { Db } from '../ledger/database.ts';
import { saveStates, type NewState } from '../ledger/entity-states.ts';
import { loadBatch, type BatchRow, type LedgerRef } from '../ledger/load-batch.ts';
import { recordEvaluations } from '../ledger/record-evaluations.ts';
import { together } from '../ledger/transactions.ts';
import {
  absorb,
  computeFeatures,
  encodeFeatures,
  readEvent,
  type Features,
  type Judgement,
  type RiskEvent,
} from '../risk/index.ts';
import { Encounters } from './encounters.ts';
import type { EvaluatorSource } from './evaluators.ts';
import { KnownStates } from './known-states.ts';

/** An evaluation that cannot be done now; its class name is what operators see. */
export class LedgerRowMissing extends Error {
  override name = 'LedgerRowMissing';
}

/** The payload's partition was dropped before the event was judged. */
export class PayloadExpired extends Error {
  override name = 'PayloadExpired';
}

/** An event and its judgement, on their way into the ledger. */
export interface JudgedEvent {
  readonly row: BatchRow;
  readonly event: RiskEvent;
  readonly features: Features;
  readonly judgement: Judgement;
}

/** What a batch is judged with. */
export interface BatchParts {
  readonly evaluators: EvaluatorSource;
  /**
   * Writes what else a result brings about (webhook events, shadow results), in the batch's transaction. Sent together
   * with the results, so it must not wait for its own statements one after the other.
   */
  readonly record?: (db: Db, judged: readonly JudgedEvent[], now: number) => Promise<void>;
}

/** What a worker adds to a batch of its own. */
export interface BatchOfWorker extends BatchParts {
  /** What the worker remembers from its earlier batches. */
  readonly known?: KnownStates;
  /** Settles the jobs of these events in the batch's transaction; sent together with the results. */
  readonly settle?: (db: Db, refs: readonly LedgerRef[]) => Promise<void>;
}

/** What became of a batch: which events are settled and which failed, each by itself. */
export interface BatchOutcome {
  /** Judged now, or already judged by somebody else: their jobs are done. */
  readonly settled: readonly LedgerRef[];
  readonly judged: readonly BatchRow[];
  readonly failed: readonly Failure[];
}

/** An event that failed by itself, and why. */
export interface Failure {
  readonly ref: LedgerRef;
  readonly error: unknown;
}

/** A batch as the ledger has it: read before its transaction begins, since none of it ever changes. */
export interface LoadedBatch {
  readonly judgeable: readonly Judgeable[];
  /** Already judged by somebody else. */
  readonly evaluated: readonly LedgerRef[];
  readonly failed: readonly Failure[];
}

/** An event that can be judged. */
export interface Judgeable {
  readonly row: BatchRow;
  readonly event: RiskEvent;
}

interface Featured extends Judgeable {
  readonly features: Features;
}

/**
 * Judges a batch inside the caller's transaction, which must forget what is known when it does not commit: features from the entities' states, risk, results and states written
 * back. Events are taken by the time they happened, so an event sees the earlier ones of its batch. An event that cannot
 * be read or judged fails alone; its neighbours are recorded without it.
 *
 * Features come first, for the whole batch, then the judgements of each Site's events in one call: a model scores many
 * events for little more than one.
 *
 * Whoever judges events of a Site has its turn until the transaction ends, so the states are changed by one worker at a
 * time, and a worker that had the last turn too knows what it wrote.
 *
 * @throws StateMoved, or what the database throws; the caller rolls back and may try the batch again
 */
export async function evaluateBatch(
  db: Db,
  refs: readonly LedgerRef[],
  now: number,
  parts: BatchOfWorker,
): Promise<BatchOutcome> {
  return judgeBatch(db, await readBatch(db, refs), now, parts);
}

/** Reads a batch; needs no transaction. An event that is not there or cannot be read has failed. */
export async function readBatch(db: Db, refs: readonly LedgerRef[]): Promise<LoadedBatch> {
  const rows = new Map((await loadBatch(db, refs)).map((row) => [row.ingestionId, row]));
  const evaluated: LedgerRef[] = [];
  const failed: Failure[] = [];
  const judgeable: Judgeable[] = [];
  for (const ref of refs) {
    const row = rows.get(ref.ingestionId);
    try {
      if (row?.siteId !== ref.siteId) throw new LedgerRowMissing();
      if (row.evaluated) evaluated.push(ref);
      else judgeable.push({ row, event: eventOf(row) });
    } catch (error: unknown) {
      failed.push({ ref, error });
    }
  }
  judgeable.sort(
    (a, b) => a.event.at - b.event.at || (a.row.ingestionId < b.row.ingestionId ? -1 : 1),
  );
  return { judgeable, evaluated, failed };
}

function eventOf(row: BatchRow): RiskEvent {
  if (row.body === null) throw new PayloadExpired();
  return readEvent({
    ingestionId: String(row.ingestionId),
    // Validated when it was accepted, and stored by us.
    event: JSON.parse(row.body) as TransactionEvent,
    merchantSubject: row.merchantSubject,
    occurredAt: row.occurredAt,
    receivedAt: row.receivedAt,
    originalKnown: row.originalKnown,
  });
}

/**
 * {@link evaluateBatch} for a batch that has been read. What `known` remembers afterwards is only true once the
 * transaction has committed.
 */
export async function judgeBatch(
  db: Db,
  batch: LoadedBatch,
  now: number,
  parts: BatchOfWorker,
): Promise<BatchOutcome> {
  const { known = new KnownStates() } = parts;
  const failed = [...batch.failed];
  let left = batch.judgeable;
  while (left.length > 0) {
    const met = new Encounters(left);
    await met.read(db, known, left[0]?.event.at ?? now);
    const featured = featuresOf(left, met, failed);
    const judged = await judgeBySite(featured, parts.evaluators, failed);
    if (judged.length === featured.length) {
      const rows = judged.map(({ row }) => row);
      const settled = [...batch.evaluated, ...rows];
      await together(
        record(db, judged, met.changed(), now, parts),
        parts.settle?.(db, settled) ?? Promise.resolve(),
      );
      met.remember(known);
      return { settled, judged: rows, failed };
    }
    // The others must not see what failed in their histories: again without it.
    known.clear();
    const good = new Set(judged.map(({ row }) => row));
    left = left.filter(({ row }) => good.has(row));
  }
  await parts.settle?.(db, batch.evaluated);
  return { settled: batch.evaluated, judged: [], failed };
}

/** Features of each event from the histories as the events before it leave them; what fails is added to `failed`. */
function featuresOf(items: readonly Judgeable[], met: Encounters, failed: Failure[]): Featured[] {
  const featured: Featured[] = [];
  for (const item of items) {
    const { event, row } = item;
    const entities = met.of(item);
    try {
      for (const entity of entities) entity.decode();
      const features = computeFeatures(
        event,
        (ref) => entities[event.entities.indexOf(ref)]?.state,
        (ref) => entities[event.entities.indexOf(ref)]?.labels,
      );
      featured.push({ row, event, features });
    } catch (error: unknown) {
      failed.push({ ref: row, error });
      continue;
    }
    // Outside the try: a state that was left half changed spoils the batch, which is then settled one by one.
    for (const [index, { kind }] of event.entities.entries()) {
      const entity = entities[index];
      entity?.become(absorb(entity.state, event, kind));
    }
  }
  return featured;
}

/** Judges each Site's events in one call; what fails is added to `failed`, the others come back in their order. */
async function judgeBySite(
  items: readonly Featured[],
  evaluators: EvaluatorSource,
  failed: Failure[],
): Promise<JudgedEvent[]> {
  const bySite = new Map<bigint, Featured[]>();
  for (const item of items) {
    const { siteId } = item.row;
    const others = bySite.get(siteId);
    if (others === undefined) bySite.set(siteId, [item]);
    else others.push(item);
  }
  const judgements = new Map<Featured, Judgement>();
  await Promise.all(
    [...bySite].map(async ([siteId, events]) => {
      const evaluator = await evaluators.of(siteId);
      const answers = await evaluator.judge(events);
      for (const [index, item] of events.entries()) {
        const answer = answers[index] ?? new Error('no judgement');
        if (answer instanceof Error) failed.push({ ref: item.row, error: answer });
        else judgements.set(item, answer);
      }
    }),
  );
  return items.flatMap((item) => {
    const judgement = judgements.get(item);
    return judgement === undefined ? [] : [{ ...item, judgement }];
  });
}

async function record(
  db: Db,
  judged: readonly JudgedEvent[],
  states: readonly NewState[],
  now: number,
  parts: BatchParts,
): Promise<void> {
  const evaluations = judged.map(({ row, features, judgement: { risk } }) => ({
    siteId: row.siteId,
    ingestionId: row.ingestionId,
    score: risk.score,
    level: risk.level,
    decision: risk.decision,
    reasons: risk.reasons,
    ruleScores: risk.rule_scores,
    evaluatorVersion: risk.evaluator_version,
    evaluatedAt: now,
    features: encodeFeatures(features),
  }));
  await together(
    recordEvaluations(db, evaluations),
    saveStates(db, states),
    judged.length === 0
      ? Promise.resolve()
      : (parts.record?.(db, judged, now) ?? Promise.resolve()),
  );
}
