import { z } from 'zod';
import type { JsonValue } from '../../ledger/operator-events.ts';
import { readModelSettings } from '../../ledger/models.ts';
import { runInBackground } from '../background-thread.ts';
import type { TaskHandler } from '../tasks.ts';
import type { Comparison } from './comparison.ts';

const DAY_MS = 86_400_000;

/** Payments compared at most, the latest ones: some 200 MB in the thread. */
const MOST = 500_000;

/** What the thread is told. Times in ms since 1970 UTC. */
export interface ComparisonOrder {
  /** The application's role: the thread reads with a connection of its own. */
  readonly appUrl: string;
  readonly siteId: string;
  readonly modelId: string;
  readonly from: number;
  readonly to: number;
  readonly labelDelayDays: number;
  readonly most: number;
}

/** What it found; `from` is later than asked for where there were too many payments. */
export interface ComparisonAnswer extends Comparison {
  readonly from: string;
  readonly to: string;
}

const Input = z.strictObject({ model_id: z.string(), from: z.number(), to: z.number() });

/** What a comparison works with. */
export interface CompareOptions {
  readonly appUrl: string;
  readonly most?: number;
}

/**
 * The task `models.compare`: sets what a model in the shadow said of live payments against what was answered, by the
 * labels known now. It changes nothing, and begins anew after a crash.
 */
export function createCompareHandler({ appUrl, most = MOST }: CompareOptions): TaskHandler {
  return async (task, { progress, signal, transaction }) => {
    const { from, model_id: modelId, to } = Input.parse(task.input);
    const { labelDelayDays } = await transaction((db) => readModelSettings(db, task.siteId));
    const order: ComparisonOrder = {
      appUrl,
      siteId: String(task.siteId),
      modelId,
      from,
      to,
      labelDelayDays,
      most,
    };
    const found = await runInBackground<ComparisonAnswer>(
      new URL('./thread.ts', import.meta.url),
      order,
      { progress, signal },
    );
    await progress({ done: 100, total: 100 });
    const { from: reached, to: until, ...comparison } = found;
    const result = {
      model_id: modelId,
      from: reached,
      to: until,
      label_delay_days: labelDelayDays,
      ...comparison,
    };
    return JSON.parse(JSON.stringify(result)) as JsonValue;
  };
}

/** The days of a period, the latest first: each is one partition. */
export function daysBackwards(from: number, to: number): { from: number; to: number }[] {
  const days: { from: number; to: number }[] = [];
  for (let end = to; end > from;) {
    const begin = Math.max(from, Math.floor((end - 1) / DAY_MS) * DAY_MS);
    days.push({ from: begin, to: end });
    end = begin;
  }
  return days;
}
