import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { LabelLine } from '../contract/import-line.ts';
import { parseInstant } from '../contract/instant.ts';
import { normalizedSourceEventId } from '../contract/transaction-rules.ts';
import type { TransactionEvent } from '../contract/transaction.ts';
import type { Clock } from '../ledger/clock.ts';
import type { Db } from '../ledger/database.ts';
import { StateMoved } from '../ledger/entity-states.ts';
import { failureKind } from '../ledger/failures.ts';
import {
  dropAbandonedImports,
  endImport,
  findImport,
  type HistoryImport,
} from '../ledger/history-imports.ts';
import {
  daysWaiting,
  nextLines,
  refuseLines,
  removeLines,
  type RefusedLine,
  type WaitingLine,
} from '../ledger/import-lines.ts';
import { createPayloadPartition } from '../ledger/partitions.ts';
import type { IdSource } from '../ledger/ids.ts';
import { readImportTarget, type ImportTarget } from '../ledger/import-events.ts';
import type { LedgerRef } from '../ledger/load-batch.ts';
import type { Transaction } from '../ledger/transactions.ts';
import type { EvaluatorSource } from './evaluators.ts';
import { importBatch, type ImportSlice } from './import-batch.ts';
import { Loop } from './loop.ts';
import { TaskRefused, type TaskHandler, type TaskRun } from './tasks.ts';

/** Lines read at once. */
const PAGE = 1_000;

/** Events of one transaction: few, because live events of the Site wait for its turn meanwhile. */
const SLICE = 200;

/**
 * A label waits for the end of its slice, so that labels do not cut every slice short: events see it at most this much
 * later than it arrived, ms, and never before.
 */
const LABEL_WAIT_MS = 2 * 3_600_000;

/** Attempts at a slice that a live event or a worker crossed. */
const CROSSED_ATTEMPTS = 5;

/** Longest that an insert may have to wait behind a new partition, ms, and how often it is tried. */
const TABLE_PATIENCE_MS = 500;
const PARTITION_ATTEMPTS = 20;

/** Share of the time that an import takes at most: what is live comes first. */
const SHARE = 0.5;

/** What the procedure leaves for the task. */
const Input = z.strictObject({ import_id: z.string() });

/** What became of the lines so far; kept with the task, and its result at the end. */
const Counts = z.strictObject({
  /** Nothing waits that is older, ms since 1970 UTC. */
  at: z.number().nullable(),
  events_added: z.int(),
  events_known: z.int(),
  labels_added: z.int(),
  labels_known: z.int(),
});
type Counts = z.infer<typeof Counts>;

const NOTHING: Counts = {
  at: null,
  events_added: 0,
  events_known: 0,
  labels_added: 0,
  labels_known: 0,
};

/** What an import works with. */
export interface ImportHistoryOptions {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly evaluators: EvaluatorSource;
  /** Queues events whose judgement failed, so that they are tried again or become dead letters like any other. */
  readonly requeue: (db: Db, refs: readonly LedgerRef[]) => Promise<number>;
  /** The share of the time, above 0 and at most 1, that work behind the answers may take now. */
  readonly share: () => number;
}

/**
 * Brings an uploaded history into the ledger in the order of time: each event is judged as it would have been then, by
 * the rules of today, after the labels that had arrived before it. Each slice's rows, results, histories, removed lines and
 * progress share a transaction, so a crash neither loses nor repeats one.
 */
export function createImportHandler(options: ImportHistoryOptions): TaskHandler {
  return async (task, run) => {
    const { import_id: id } = Input.parse(task.input);
    const { known, target } = await run.transaction(async (db) => {
      const found = await findImport(db, BigInt(id));
      if (found?.siteId !== task.siteId) throw new TaskRefused(`There is no import ${id}.`);
      const { siteId, credentialId } = found;
      return { known: found, target: await readImportTarget(db, siteId, credentialId) };
    });
    await keepDays(known, run);
    let counts = Counts.safeParse(task.position).data ?? NOTHING;
    let { done } = task;
    for (;;) {
      const page = await run.transaction((db) => nextLines(db, known, counts.at, PAGE));
      if (page.length === 0) break;
      for (const slice of slicesOf(page)) {
        run.signal.throwIfAborted();
        const began = performance.now();
        counts = await importSlice(slice, { known, target, run, options, counts, done });
        done += slice.lines.length;
        const took = performance.now() - began;
        const share = Math.min(SHARE, options.share());
        await sleep(Math.min(1_000, took / share - took), undefined, { signal: run.signal });
      }
    }
    return run.transaction(async (db) => {
      await endImport(db, known, options.clock.now());
      const { at: _at, ...result } = counts;
      const now = await findImport(db, known.id);
      return { import_id: id, ...result, refused_lines: now?.refused ?? known.refused };
    });
  };
}

/** Payloads of past days get their partitions first; a day that cannot have one now keeps them for good. */
async function keepDays(known: HistoryImport, { signal, transaction }: TaskRun): Promise<void> {
  for (const day of await transaction((db) => daysWaiting(db, known))) {
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        await transaction((db) => createPayloadPartition(db, day, TABLE_PATIENCE_MS));
        break;
      } catch (error: unknown) {
        if (!hasCode(error, LOCK_TIMEOUT) || attempt === PARTITION_ATTEMPTS) throw error;
        await sleep(TABLE_PATIENCE_MS, undefined, { signal });
      }
    }
  }
}

/** SQLSTATE lock_not_available, unique_violation. */
const LOCK_TIMEOUT = '55P03';
const TAKEN_ALREADY = '23505';

function hasCode(error: unknown, code: string): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && at.code === code) return true;
  }
  return false;
}

/** Lines of one transaction. */
export interface LineSlice {
  /** Labels first, which arrived before the last events of the slice before, then events. */
  readonly lines: readonly WaitingLine[];
  /** Time of the earliest line that is not done after it, ms since 1970 UTC. */
  readonly next: number;
}

/** Cuts lines in the order of time into slices; no event comes behind a label that arrived after it. */
export function slicesOf(lines: readonly WaitingLine[]): LineSlice[] {
  const slices: WaitingLine[][] = [];
  let labels: WaitingLine[] = [];
  let events: WaitingLine[] = [];
  let waiting: WaitingLine[] = [];
  const cut = (): void => {
    if (labels.length + events.length > 0) slices.push([...labels, ...events]);
    labels = waiting;
    waiting = [];
    events = [];
  };
  for (const line of lines) {
    if (line.isLabel) {
      waiting.push(line);
      if (waiting.length >= SLICE) cut();
      continue;
    }
    const oldest = waiting[0];
    const isDue = oldest !== undefined && line.at - oldest.at > LABEL_WAIT_MS;
    if (isDue || events.length >= SLICE) cut();
    events.push(line);
  }
  cut();
  cut();
  const last = lines.at(-1)?.at ?? 0;
  let next = last;
  return slices
    .reverse()
    .map((slice) => {
      const result = { lines: slice, next };
      next = Math.min(next, ...slice.map(({ at }) => at));
      return result;
    })
    .reverse();
}

interface SliceParts {
  readonly known: HistoryImport;
  readonly target: ImportTarget;
  readonly run: TaskRun;
  readonly options: ImportHistoryOptions;
  readonly counts: Counts;
  readonly done: number;
}

/** Brings a slice into the ledger; what the database refuses is found by trying its lines one by one. */
async function importSlice({ lines: slice, next }: LineSlice, parts: SliceParts): Promise<Counts> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await parts.run.transaction((db) => bringIn(db, { lines: slice, next }, parts));
    } catch (error: unknown) {
      const kind = failureKind(error);
      const crossed =
        error instanceof StateMoved || kind === 'retryable' || hasCode(error, TAKEN_ALREADY);
      if (crossed && attempt < CROSSED_ATTEMPTS) continue;
      if (kind !== 'refused-data') throw error;
      return slice.length === 1
        ? refuseSlice({ lines: slice, next }, parts)
        : oneByOne({ lines: slice, next }, parts);
    }
  }
}

async function oneByOne({ lines, next }: LineSlice, parts: SliceParts): Promise<Counts> {
  let { counts } = parts;
  for (const [index, line] of lines.entries()) {
    const rest = Math.min(next, ...lines.slice(index + 1).map(({ at }) => at));
    const alone = { lines: [line], next: rest };
    counts = await importSlice(alone, { ...parts, counts, done: parts.done + index });
  }
  return counts;
}

function refuseSlice({ lines, next }: LineSlice, parts: SliceParts): Promise<Counts> {
  const { counts, done, known, run } = parts;
  const after = { ...counts, at: next };
  return run.transaction(async (db) => {
    const refused = lines.map(({ line }) => ({ line, problems: ['line: cannot be stored'] }));
    await refuseLines(db, known, refused);
    await removeLines(db, known, lines);
    await run.progress({ done: done + lines.length, position: after }, db);
    return after;
  });
}

async function bringIn(
  db: Db,
  { lines, next }: LineSlice,
  { known, target, run, options, counts, done }: SliceParts,
): Promise<Counts> {
  const slice = sliceOf(lines);
  const { events, failed, labels } = await importBatch(
    db,
    { ids: options.ids, target, evaluators: options.evaluators },
    slice,
    options.clock.now(),
  );
  const judgeLater = failed.map(({ ref }) => ref);
  if ((await options.requeue(db, judgeLater)) !== judgeLater.length) {
    throw new Error('fewer jobs queued than events to be judged later');
  }
  const refused = refusedBy(lines, new Set(events.conflicts), new Set(labels.unknown));
  await refuseLines(db, known, refused);
  await removeLines(db, known, lines);
  const after: Counts = {
    at: next,
    events_added: counts.events_added + events.added.length,
    events_known: counts.events_known + events.known,
    labels_added: counts.labels_added + labels.added,
    labels_known: counts.labels_known + labels.known,
  };
  await run.progress({ done: done + lines.length, position: after }, db);
  return after;
}

/** Validated when they were uploaded, and stored by us. */
const eventOf = ({ body }: WaitingLine): TransactionEvent => JSON.parse(body) as TransactionEvent;
const labelOf = ({ body }: WaitingLine): LabelLine => JSON.parse(body) as LabelLine;

function sliceOf(lines: readonly WaitingLine[]): ImportSlice {
  return {
    events: lines.filter(({ isLabel }) => !isLabel).map((line) => ({ event: eventOf(line) })),
    labels: lines
      .filter(({ isLabel }) => isLabel)
      .map((line) => {
        const label = labelOf(line);
        return {
          sourceEventId: label.source_event_id,
          outcomeLabel: label.outcome_label,
          labelledAt: parseInstant(label.labelled_at) ?? line.at,
        };
      }),
  };
}

/** The lines that the ledger has otherwise, and labels of events that it does not have. */
function refusedBy(
  lines: readonly WaitingLine[],
  conflicts: ReadonlySet<string>,
  unknown: ReadonlySet<string>,
): RefusedLine[] {
  if (conflicts.size === 0 && unknown.size === 0) return [];
  return lines.flatMap((line) => {
    if (line.isLabel) {
      return unknown.has(labelOf(line).source_event_id)
        ? [{ line: line.line, problems: ['source_event_id: names no event of the Site'] }]
        : [];
    }
    return conflicts.has(normalizedSourceEventId(eventOf(line)))
      ? [{ line: line.line, problems: ['source_event_id: is in the ledger with another payload'] }]
      : [];
  });
}

/** Uploads that nobody went on with are removed after this, ms. */
const ABANDONED_MS = 7 * 86_400_000;

/** Removes what waits of imports that were given up, once in a while: payloads must not lie about. */
export function createAbandonedImportsLoop(options: {
  readonly transaction: Transaction;
  readonly clock: Clock;
  readonly onFault: (error: unknown) => void;
}): Loop {
  return new Loop({
    everyMs: 600_000,
    async work(signal) {
      const now = options.clock.now();
      const dropSome = () =>
        options.transaction((db) => dropAbandonedImports(db, now - ABANDONED_MS, now));
      while (!signal.aborted && (await dropSome()));
    },
    onFault: options.onFault,
  });
}
