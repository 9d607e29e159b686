import type { TransactionEvent } from '../contract/transaction.ts';
import type { Db } from '../ledger/database.ts';
import { loadLabels } from '../ledger/entity-labels.ts';
import {
  entityName,
  lockStates,
  saveStates,
  type EntityKey,
  type StoredState,
} from '../ledger/entity-states.ts';
import { loadBatch, type BatchRow, type LedgerRef } from '../ledger/load-batch.ts';
import { recordEvaluations } from '../ledger/record-evaluations.ts';
import { together } from '../ledger/transactions.ts';
import {
  absorb,
  computeFeatures,
  decodeState,
  encodeFeatures,
  encodeState,
  readEvent,
  type EntityKind,
  type EntityState,
  type Features,
  type Judgement,
  type RiskEvent,
} from '../risk/index.ts';
import type { EvaluatorSource } from './evaluators.ts';

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

/** What became of a batch: which events are settled and which failed, each by itself. */
export interface BatchOutcome {
  /** Judged now, or already judged by somebody else: their jobs are done. */
  readonly settled: readonly LedgerRef[];
  readonly judged: readonly BatchRow[];
  readonly failed: readonly { readonly ref: LedgerRef; readonly error: unknown }[];
}

interface Judgeable {
  readonly row: BatchRow;
  readonly event: RiskEvent;
}

interface Featured extends Judgeable {
  readonly features: Features;
}

type Failures = { readonly ref: LedgerRef; readonly error: unknown }[];

const refName = (ref: LedgerRef): string => `${ref.siteId}/${ref.ingestionId}`;

/**
 * Judges a batch inside the caller's transaction: features from the entities' states, risk, results and states written
 * back. Events are taken by the time they happened, so an event sees the earlier ones of its batch. An event that cannot
 * be read or judged fails alone; its neighbours are recorded without it.
 *
 * Features come first, for the whole batch, then the judgements of each Site's events in one call: a model scores many
 * events for little more than one.
 *
 * @throws StateMoved, or what the database throws; the caller rolls back and may try the batch again
 */
export async function evaluateBatch(
  db: Db,
  refs: readonly LedgerRef[],
  now: number,
  parts: BatchParts,
): Promise<BatchOutcome> {
  const rows = new Map((await loadBatch(db, refs)).map((row) => [refName(row), row]));
  const settled: LedgerRef[] = [];
  const failed: { ref: LedgerRef; error: unknown }[] = [];
  const judgeable: Judgeable[] = [];
  for (const ref of refs) {
    const row = rows.get(refName(ref));
    if (row?.evaluated === true) {
      settled.push(ref);
      continue;
    }
    try {
      if (row === undefined) throw new LedgerRowMissing();
      judgeable.push({ row, event: eventOf(row) });
    } catch (error: unknown) {
      failed.push({ ref, error });
    }
  }
  const judged = await judgeAll(db, judgeable, now, failed, parts);
  return { settled: [...settled, ...judged], judged, failed };
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

async function judgeAll(
  db: Db,
  items: readonly Judgeable[],
  now: number,
  failed: Failures,
  parts: BatchParts,
): Promise<BatchRow[]> {
  const ordered = [...items].sort(
    (a, b) => a.event.at - b.event.at || (a.row.ingestionId < b.row.ingestionId ? -1 : 1),
  );
  const wanted = entitiesOf(ordered);
  const entities = [...wanted.values()];
  const [stored, labels] = await together(
    lockStates(db, entities),
    loadLabels(db, entities, ordered[0]?.event.at ?? now),
  );

  let left: readonly Judgeable[] = ordered;
  for (;;) {
    const states = statesOf(stored);
    const featured: Featured[] = [];
    for (const item of left) {
      const nameOf = (ref: { kind: string; key: string }): string =>
        entityName({ siteId: item.row.siteId, ...ref });
      try {
        const features = computeFeatures(
          item.event,
          (ref) => states.get(nameOf(ref)),
          (ref) => labels.get(nameOf(ref)),
        );
        featured.push({ ...item, features });
      } catch (error: unknown) {
        failed.push({ ref: item.row, error });
        continue;
      }
      // Outside the try: a state that was left half changed spoils the batch, which is then settled one by one.
      for (const ref of item.event.entities) {
        const name = nameOf(ref);
        states.set(name, absorb(states.get(name), item.event, ref.kind));
      }
    }
    const judged = await judgeBySite(featured, parts.evaluators, failed);
    if (judged.length < featured.length) {
      // The others must not see what failed in their histories: again without it.
      const good = new Set(judged.map(({ row }) => row));
      left = left.filter(({ row }) => good.has(row));
      continue;
    }
    await record(db, judged, changedStates(judged, wanted, stored, states), now, parts);
    return judged.map(({ row }) => row);
  }
}

function entitiesOf(items: readonly Judgeable[]): Map<string, EntityKey> {
  const wanted = new Map<string, EntityKey>();
  for (const { row, event } of items) {
    for (const { kind, key } of event.entities) {
      const entity = { siteId: row.siteId, kind, key };
      wanted.set(entityName(entity), entity);
    }
  }
  return wanted;
}

function statesOf(stored: ReadonlyMap<string, StoredState>): Map<string, EntityState> {
  const states = new Map<string, EntityState>();
  for (const [name, { state, kind }] of stored) {
    if (state !== null) states.set(name, decodeState(state, kind as EntityKind));
  }
  return states;
}

/** Judges each Site's events in one call; what fails is added to `failed`, the others come back in their order. */
async function judgeBySite(
  items: readonly Featured[],
  evaluators: EvaluatorSource,
  failed: Failures,
): Promise<JudgedEvent[]> {
  const bySite = new Map<bigint, Featured[]>();
  for (const item of items) {
    const { siteId } = item.row;
    const known = bySite.get(siteId);
    if (known === undefined) bySite.set(siteId, [item]);
    else known.push(item);
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

type NewState = EntityKey & { readonly state: string; readonly version: bigint };

function changedStates(
  judged: readonly JudgedEvent[],
  wanted: ReadonlyMap<string, EntityKey>,
  stored: ReadonlyMap<string, StoredState>,
  states: ReadonlyMap<string, EntityState>,
): NewState[] {
  const touched = entitiesOf(judged).keys();
  return [...touched].flatMap((name) => {
    const entity = wanted.get(name);
    const state = states.get(name);
    if (entity === undefined || state === undefined) return [];
    const version = (stored.get(name)?.version ?? 0n) + 1n;
    return [{ ...entity, state: encodeState(state), version }];
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
