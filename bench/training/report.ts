import type { JsonValue } from '../../ledger/operator-events.ts';
import { MEASUREMENT_HEAD, measurementRow } from '../measurement-table.ts';
import type { Measurement } from '../measure.ts';
import { ratio, shown, type Table } from '../report.ts';

/** What one run measured. */
export interface TrainingRun {
  readonly filled: { readonly events: number; readonly seconds: number };
  readonly phases: {
    readonly before: Measurement;
    readonly during: Measurement;
    readonly after: Measurement;
  };
  readonly training: {
    /** From the order to the end of the task, by the clock. */
    readonly seconds: number;
    /** CPU of the training thread; NaN where it cannot be told. */
    readonly threadSeconds: number;
    /** The task's result. */
    readonly result: JsonValue;
  };
  /** Resident memory of the service under load before the training. */
  readonly idleMegabytes: number;
  /** Transactions a second. */
  readonly rate: number;
}

/** What a training may take, seconds, and p99 during it to p99 before. */
export interface Limits {
  readonly seconds: number;
  readonly p99: number;
}

/** What the result of a training says of the model. */
interface Metrics {
  readonly rows: number;
  readonly frauds: number;
  readonly trees: number;
  readonly features: number;
  readonly auc_roc: number;
  readonly average_precision: number;
  readonly card_precision_100: number;
  readonly log_loss: number;
  readonly answered: { readonly average_precision: number };
}

/** The tables of a run, and whether it kept the limits. @throws Error where no model was learned */
export function tablesOf(
  run: TrainingRun,
  limits: Limits,
): { readonly tables: Table[]; readonly isWithin: boolean } {
  const { training, phases, filled, idleMegabytes, rate } = run;
  const result = training.result as { metrics?: Metrics; reason?: string } | null;
  const metrics = result?.metrics;
  if (metrics === undefined) throw new Error(result?.reason ?? 'No model was learned.');
  const slowed = phases.during.latencies.p99 / phases.before.latencies.p99;
  const isWithin = training.seconds <= limits.seconds && slowed <= limits.p99;
  const verdict = (isKept: boolean): string => (isKept ? 'kept' : 'MISSED');
  const learned: Table = {
    title: 'The training',
    head: ['', 'measured'],
    rows: [
      ['rows learned', shown(metrics.rows)],
      ['of them frauds', shown(metrics.frauds)],
      ['features that tell', shown(metrics.features)],
      ['trees', shown(metrics.trees)],
      ['seconds by the clock, reading included', shown(training.seconds, 1)],
      ['CPU seconds of its thread', shown(training.threadSeconds, 1)],
      ['service RSS before it, MB', shown(idleMegabytes)],
      ['largest service RSS during it, MB', shown(phases.during.residentMegabytes)],
      ['AUC ROC', shown(metrics.auc_roc, 3)],
      ['average precision', shown(metrics.average_precision, 3)],
      ['average precision of the rules alone', shown(metrics.answered.average_precision, 3)],
      ['card precision at 100', shown(metrics.card_precision_100, 3)],
      ['log loss', shown(metrics.log_loss, 4)],
    ],
    notes: [
      `${shown(training.seconds, 0)} s by the clock (at most ${limits.seconds} s: ${verdict(training.seconds <= limits.seconds)}).`,
      `The payments and what became of them, ${shown(filled.events)} events, were imported into one Site by the service's own history import in ${shown(filled.seconds)} s: every one was judged, with the features of its time, and none was copied.`,
      'Metrics are those of the validation, the last quarter of the time. The frauds were drawn by chance, so no model can find all of them.',
    ],
  };
  const load: Table = {
    title: `${shown(rate)} transactions a second meanwhile, ROLE=all`,
    head: MEASUREMENT_HEAD,
    rows: [
      measurementRow('before the training', [phases.before]),
      measurementRow('during the training', [phases.during]),
      measurementRow('after the training', [phases.after]),
    ],
    notes: [
      `p99 during the training to before: ${ratio(phases.during.latencies.p99, phases.before.latencies.p99)} (at most ${limits.p99}x: ${verdict(slowed <= limits.p99)}); after it to before: ${ratio(phases.after.latencies.p99, phases.before.latencies.p99)}.`,
      'Latency counts from the moment a request was due. CPU of the service during the training includes the training.',
      'The training runs in a thread of the service with a lower priority than everything else.',
    ],
  };
  return { tables: [learned, load], isWithin };
}
