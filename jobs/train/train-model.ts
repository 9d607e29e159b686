import type { Clock } from '../../ledger/clock.ts';
import { insertModel, readModelSettings } from '../../ledger/models.ts';
import { raiseOperatorEvent, type JsonValue } from '../../ledger/operator-events.ts';
import { FEATURES_VERSION } from '../../risk/index.ts';
import type { BoostSettings } from '../../risk/model/boost.ts';
import { LEARNING, type LearningMetrics } from '../../risk/model/learn.ts';
import { modelHash } from '../../risk/model/model.ts';
import { runInBackground } from '../background-thread.ts';
import type { TaskHandler } from '../tasks.ts';
import { MOST_ROWS } from './read-rows.ts';

const DAY_MS = 86_400_000;

/** What the thread is told. Times in ms since 1970 UTC. */
export interface TrainingOrder {
  readonly appUrl: string;
  readonly siteId: string;
  readonly period: { readonly from: number; readonly to: number };
  readonly settings: BoostSettings;
  readonly mostRows: number;
}

/** What it found. */
export type TrainingAnswer =
  | { readonly kind: 'learned'; readonly text: string; readonly metrics: LearningMetrics }
  | { readonly kind: 'too few'; readonly reason: string };

/** What a training works with. */
export interface TrainOptions {
  /** The application's role: the thread reads with connections of its own. */
  readonly appUrl: string;
  readonly clock: Clock;
  readonly learning?: BoostSettings;
  readonly mostRows?: number;
}

/**
 * Learns a model for the task's Site from what is known now and stores it; it judges nothing until it is released. A
 * start after a crash begins anew, and learns the same. With too few labels there is no model, and the result says so.
 */
export function createTrainHandler({
  appUrl,
  clock,
  learning = LEARNING,
  mostRows = MOST_ROWS,
}: TrainOptions): TaskHandler {
  return async (task, { progress, signal, transaction }) => {
    const settings = await transaction((db) => readModelSettings(db, task.siteId));
    // The instant of the order, so that every start of the task learns from the same rows.
    const asked = orderedAt(task.input) ?? clock.now();
    const to = asked - settings.labelDelayDays * DAY_MS;
    const period = { from: to - settings.historyDays * DAY_MS, to };
    const order: TrainingOrder = {
      appUrl,
      siteId: String(task.siteId),
      period,
      settings: learning,
      mostRows,
    };
    const answer = await runInBackground<TrainingAnswer>(
      new URL('./thread.ts', import.meta.url),
      order,
      { progress, signal },
    );
    return transaction(async (db) => {
      const subject = `Site ${task.siteId}`;
      const at = clock.now();
      if (answer.kind === 'too few') {
        await raiseOperatorEvent(db, {
          siteId: task.siteId,
          kind: 'model_not_learned',
          subject,
          detail: { reason: answer.reason },
          at,
        });
        return { model_id: null, reason: answer.reason };
      }
      const metrics = JSON.parse(JSON.stringify(answer.metrics)) as JsonValue;
      const modelId = await insertModel(db, {
        siteId: task.siteId,
        featuresVersion: FEATURES_VERSION,
        settings: { ...learning, ...snakeSettings(settings), most_rows: mostRows },
        metrics,
        forest: answer.text,
        contentHash: modelHash(answer.text),
        by: task.createdBy,
        at,
      });
      await progress({ done: 100, total: 100 }, db);
      await raiseOperatorEvent(db, {
        siteId: task.siteId,
        kind: 'model_learned',
        subject,
        detail: { model_id: String(modelId), average_precision: answer.metrics.average_precision },
        at,
      });
      return { model_id: String(modelId), metrics };
    });
  };
}

function orderedAt(input: JsonValue): number | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined;
  const until = (input as Record<string, JsonValue>)['known_until'];
  return typeof until === 'string' ? Date.parse(until) : undefined;
}

function snakeSettings(settings: { labelDelayDays: number; historyDays: number }) {
  return { label_delay_days: settings.labelDelayDays, history_days: settings.historyDays };
}
