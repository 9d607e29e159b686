import { siteEvaluators } from '../../jobs/evaluators.ts';
import { importBatch } from '../../jobs/import-batch.ts';
import { ModelSource } from '../../jobs/site-models.ts';
import { run, type Db } from '../../ledger/database.ts';
import { createIdSource } from '../../ledger/ids.ts';
import type { ImportTarget, PastEvent, PastLabel } from '../../ledger/import-events.ts';
import { releaseModel } from '../../ledger/models.ts';
import type { JsonValue } from '../../ledger/operator-events.ts';
import { createPipelinedTransactions, type Transaction } from '../../ledger/transactions.ts';
import type { BoostSettings } from '../../risk/model/boost.ts';
import { patiently } from '../patiently.ts';
import { trainSite } from '../model/train.ts';
import { eventOf, type StreamLine } from './stream.ts';

const DAY_MS = 86_400_000;

/** A confirmed fraud becomes known this long after it happened; silence until then means genuine. */
const LABEL_DELAY_MS = 7 * DAY_MS;

/** Events of one transaction at most. */
const BATCH = 256;

/** What a replay is given. */
export interface ReplayOptions {
  /** The application's role on a migrated database with the Site. Never print it. */
  readonly appUrl: string;
  readonly target: ImportTarget;
  /** False: no label is ever sent and no model learned, so the default rules judge alone. */
  readonly withLabels: boolean;
  /** How a model is learned; the service's own settings unless given. */
  readonly learning?: BoostSettings;
  readonly onEvents: (done: number) => void;
  readonly onTraining: (share: number) => void;
}

/** What it took and yielded. */
export interface Replayed {
  /** Score of each test event by its id: the model's probability, or the rules' score. */
  readonly scores: ReadonlyMap<string, number>;
  readonly events: number;
  readonly labels: number;
  /** Seconds spent on events and labels, and on learning. */
  readonly replaySeconds: number;
  readonly trainingSeconds: number;
  /** Result of the training task; null without one. */
  readonly training: JsonValue;
}

/**
 * Sends a stream through the ledger as if it happened now, label by label and event by event in the order of time, learns
 * a model when the test part begins and lets it judge from there.
 */
export async function replay(
  lines: AsyncIterable<StreamLine>,
  options: ReplayOptions,
): Promise<Replayed> {
  const clock = { at: 0, now: (): number => clock.at };
  const database = createPipelinedTransactions({
    url: options.appUrl,
    poolSize: 3,
    applicationName: 'bench detection',
    statementTimeoutMs: 60_000,
  });
  const { transaction } = database;
  const ids = createIdSource();
  const due: { readonly at: number; readonly label: PastLabel }[] = [];
  let nextDue = 0;
  let evaluators = siteEvaluators(new ModelSource({ transaction, clock }));
  const events: PastEvent[] = [];
  const labels: PastLabel[] = [];
  const done = { events: 0, labels: 0, trainingSeconds: 0 };
  let training: JsonValue = null;

  const flush = async (): Promise<void> => {
    if (events.length === 0 && labels.length === 0) return;
    const slice = { events: [...events], labels: [...labels] };
    events.length = 0;
    labels.length = 0;
    const { failed, labels: counted } = await patiently(() =>
      transaction((db) =>
        importBatch(db, { ids, target: options.target, evaluators }, slice, clock.at),
      ),
    );
    if (failed.length > 0 || counted.unknown.length > 0) {
      throw new Error(`${failed.length} events failed, ${counted.unknown.length} labels are lost`);
    }
    done.events += slice.events.length;
    done.labels += counted.added;
    options.onEvents(done.events);
  };

  const started = performance.now();
  const testIds: string[] = [];
  let isTest = false;
  try {
    for await (const line of lines) {
      if (line.part === 'test' && !isTest) {
        await flush();
        isTest = true;
        // As if ordered at midnight: what is known by then, and not a second more.
        clock.at = Math.floor(line.at / DAY_MS) * DAY_MS;
        if (options.withLabels) {
          const startedTraining = performance.now();
          while (nextDue < due.length && (due[nextDue]?.at ?? 0) <= clock.at) {
            labels.push((due[nextDue++] as { label: PastLabel }).label);
          }
          await flush();
          training = await train(options, clock, transaction);
          evaluators = siteEvaluators(new ModelSource({ transaction, clock }));
          done.trainingSeconds = (performance.now() - startedTraining) / 1000;
        }
      }
      // Labels come before an event of the same second, and after all earlier events.
      while (nextDue < due.length && (due[nextDue]?.at ?? Infinity) <= line.at) {
        if (events.length > 0) await flush();
        const next = due[nextDue++] as { at: number; label: PastLabel };
        labels.push(next.label);
        clock.at = Math.max(clock.at, next.at);
      }
      clock.at = line.at;
      events.push({ event: eventOf(line) });
      if (isTest) testIds.push(line.sourceEventId);
      if (line.isFraud && options.withLabels) {
        const at = line.at + LABEL_DELAY_MS;
        due.push({
          at,
          label: {
            sourceEventId: line.sourceEventId,
            outcomeLabel: 'FRAUD_CONFIRMED',
            labelledAt: at,
          },
        });
      }
      if (events.length >= BATCH) await flush();
    }
    await flush();
    const replaySeconds = (performance.now() - started) / 1000 - done.trainingSeconds;
    const scores = await transaction((db) => readScores(db, options.target.siteId, testIds));
    return { ...done, scores, replaySeconds, training };
  } finally {
    await database.close();
  }
}

/** Learns a model by the service's own task and publishes it; answers the task's result. */
async function train(
  { appUrl, target, learning, onTraining }: ReplayOptions,
  clock: { now: () => number },
  transaction: Transaction,
): Promise<JsonValue> {
  const { siteId } = target;
  const result = await trainSite({
    appUrl,
    siteId,
    clock,
    onTraining,
    ...(learning === undefined ? {} : { learning }),
  });
  const { model_id: modelId } = result as { model_id?: string | null };
  if (typeof modelId === 'string') {
    await transaction((db) =>
      releaseModel(db, {
        siteId,
        role: 'LIVE',
        modelId: BigInt(modelId),
        kind: 'PUBLISH',
        by: 'bench',
        at: clock.now(),
      }),
    );
  }
  return result;
}

async function readScores(
  db: Db,
  siteId: bigint,
  sourceEventIds: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await run<{ source_event_id: string; score: number }>(
    db,
    `select event.source_event_id,
       coalesce((result.rule_scores ->> 'model_probability')::double precision, result.score::double precision) as score
     from unnest($2::text[]) as wanted (source_event_id)
     join ingestion event on event.site_id = $1 and event.source_event_id = wanted.source_event_id
     join evaluation result on result.site_id = event.site_id and result.ingestion_id = event.id`,
    [siteId, sourceEventIds],
  );
  return new Map(rows.map((row) => [row.source_event_id, row.score]));
}
