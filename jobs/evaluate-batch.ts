import type { TransactionEvent } from '../contract/transaction.ts';
import type { Db } from '../ledger/database.ts';
import {
  countLabels,
  entityName,
  lockStates,
  saveStates,
  type EntityKey,
} from '../ledger/entity-states.ts';
import { loadBatch, type BatchRow, type LedgerRef } from '../ledger/load-batch.ts';
import { recordEvaluations, type NewEvaluation } from '../ledger/record-evaluations.ts';
import { together } from '../ledger/transactions.ts';
import {
  absorb,
  computeFeatures,
  decodeState,
  DEFAULT_RULES,
  encodeFeatures,
  encodeState,
  judge,
  readEvent,
  type EntityKind,
  type EntityState,
  type RiskEvent,
} from '../risk/index.ts';

/** An evaluation that cannot be done now; its class name is what operators see. */
export class LedgerRowMissing extends Error {
  override name = 'LedgerRowMissing';
}

/** The payload's partition was dropped before the event was judged. */
export class PayloadExpired extends Error {
  override name = 'PayloadExpired';
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

const refName = (ref: LedgerRef): string => `${ref.siteId}/${ref.ingestionId}`;

/**
 * Judges a batch inside the caller's transaction: features from the entities' states, risk, results and states written
 * back. Events are taken by the time they happened, so an event sees the earlier ones of its batch. An event that cannot
 * be read or judged fails alone; its neighbours are recorded without it.
 *
 * @throws StateMoved, or what the database throws; the caller rolls back and may try the batch again
 */
export async function evaluateBatch(
  db: Db,
  refs: readonly LedgerRef[],
  now: number,
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
  const judged = await judgeAll(db, judgeable, now, failed);
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
  failed: { ref: LedgerRef; error: unknown }[],
): Promise<BatchRow[]> {
  const ordered = [...items].sort(
    (a, b) => a.event.at - b.event.at || (a.row.ingestionId < b.row.ingestionId ? -1 : 1),
  );
  const wanted = new Map<string, EntityKey>();
  for (const { row, event } of ordered) {
    for (const { kind, key } of event.entities) {
      const entity = { siteId: row.siteId, kind, key };
      wanted.set(entityName(entity), entity);
    }
  }
  const entities = [...wanted.values()];
  const [stored, labels] = await together(lockStates(db, entities), countLabels(db, entities));
  const states = new Map<string, EntityState>();
  for (const [name, { state, kind }] of stored) {
    if (state !== null) states.set(name, decodeState(state, kind as EntityKind));
  }

  const judged: BatchRow[] = [];
  const evaluations: NewEvaluation[] = [];
  const touched = new Set<string>();
  for (const { row, event } of ordered) {
    const nameOf = (ref: { kind: string; key: string }): string =>
      entityName({ siteId: row.siteId, ...ref });
    try {
      const features = computeFeatures(
        event,
        (ref) => states.get(nameOf(ref)),
        (ref) => labels.get(nameOf(ref)),
      );
      const { risk } = judge(event, features, DEFAULT_RULES);
      evaluations.push({
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
      });
    } catch (error: unknown) {
      failed.push({ ref: row, error });
      continue;
    }
    judged.push(row);
    // Outside the try: a state that was left half changed spoils the batch, which is then settled one by one.
    for (const ref of event.entities) {
      const name = nameOf(ref);
      states.set(name, absorb(states.get(name), event, ref.kind));
      touched.add(name);
    }
  }

  const changed = [...touched].flatMap((name) => {
    const entity = wanted.get(name);
    const state = states.get(name);
    if (entity === undefined || state === undefined) return [];
    const version = (stored.get(name)?.version ?? 0n) + 1n;
    return [{ ...entity, state: encodeState(state), version }];
  });
  await together(recordEvaluations(db, evaluations), saveStates(db, changed));
  return judged;
}
