import type { Edges } from './bins.ts';
import { boost, type AfterTree, type BoostSettings, type TrainingRows } from './boost.ts';
import { calibrated } from './model.ts';
import { fitCalibration, type Calibration } from './calibrate.ts';
import { sigmoid, type Forest } from './forest.ts';
import {
  calibrationBands,
  logLoss,
  rankingMetrics,
  type CalibrationBand,
  type Probability,
  type RankingMetrics,
  type ScoredRow,
} from './metrics.ts';

/** Judged and labelled events, in any order that is always the same, cut into bins. */
export interface LearningRows extends TrainingRows {
  readonly edges: Edges;
  /** Instant of each event, ms since 1970 UTC. */
  readonly at: Float64Array;
  /** Card or customer of each event; empty where it names none. */
  readonly cards: readonly string[];
  /** What the service answered when the event came: the live model's probability, else the score of the rules. */
  readonly answered: Float64Array;
}

/** What a learning yields. */
export interface Learned {
  readonly forest: Forest;
  readonly calibration: Calibration;
  readonly metrics: LearningMetrics;
}

/** How a model was measured: on the last part of the time, which the measured forest had not seen. */
export interface LearningMetrics extends RankingMetrics {
  readonly log_loss: number;
  readonly calibration: readonly CalibrationBand[];
  /** The same events as the service answered them when they came. */
  readonly answered: RankingMetrics;
  readonly rows: number;
  readonly frauds: number;
  readonly validation_rows: number;
  readonly validation_frauds: number;
  readonly trees: number;
  /** Features that differ among the rows: the others say nothing. */
  readonly features: number;
  readonly trained_from: string;
  readonly trained_to: string;
  readonly validated_from: string;
}

/** Too little is known to learn from; the message says what is missing. */
export class TooFewLabels extends Error {
  override readonly name = 'TooFewLabels';
}

/** Settings of every model; a change makes other models and is seen in their stored settings. */
export const LEARNING: BoostSettings = {
  trees: 300,
  rate: 0.05,
  leaves: 12,
  leafRows: 20,
  shrink: 5,
  gain: 0.01,
  featureShare: 0.3,
  rowShare: 0.7,
  treeRows: 168_000,
  seed: 1,
};

/** Share of the time that is kept for validation, at the end. */
const VALIDATION_SHARE = 0.25;
const LEAST_FRAUDS = 40;
const LEAST_VALIDATION_FRAUDS = 15;
/** The validation is looked at after this many trees, and waits this many for something better. */
const LOOK_EVERY = 10;
const PATIENCE = 60;

/**
 * Learns a model in two passes: on the earlier part of the time, measured, calibrated and stopped by the later part; then
 * on all of it, with as many trees as were best. Deterministic.
 *
 * @param onProgress  gets the share that is done, 0 to 1
 * @param rest  called several times a millisecond; may pause, for the sake of whoever shares the machine
 * @throws TooFewLabels
 */
export function learn(
  rows: LearningRows,
  settings: BoostSettings,
  onProgress: (share: number) => void,
  rest?: () => void,
): Learned {
  const count = rows.at.length;
  if (count === 0) throw new TooFewLabels('There are no judged payments to learn from.');
  const { first, last } = spanOf(rows.at);
  const split = validatedFrom(rows.at);
  const earlier = indexes(count, (row) => (rows.at[row] as number) < split);
  const later = indexes(count, (row) => (rows.at[row] as number) >= split);
  const frauds = fraudsAmong(rows, earlier);
  const laterFrauds = fraudsAmong(rows, later);
  if (frauds < LEAST_FRAUDS || laterFrauds < LEAST_VALIDATION_FRAUDS) {
    throw new TooFewLabels(
      `${frauds + laterFrauds} labelled frauds are too few to learn from: ${LEAST_FRAUDS} are needed before ${iso(split)} (there are ${frauds}) and ${LEAST_VALIDATION_FRAUDS} after it (there are ${laterFrauds}).`,
    );
  }

  let best = { loss: Infinity, tree: 0, logits: new Float64Array(0) };
  const lookAtLater: AfterTree = (tree, logits) => {
    onProgress((tree / settings.trees) * 0.5);
    if ((tree + 1) % LOOK_EVERY !== 0 && tree + 1 !== settings.trees) return true;
    const seen = Float64Array.from(later, (row) => logits[row] as number);
    // The loss, not a ranking: a few dozen frauds make every ranking jump about.
    const loss = logLoss(probabilities(rows, later, seen));
    if (loss < best.loss) best = { loss, tree: tree + 1, logits: seen };
    return tree + 1 - best.tree < PATIENCE;
  };
  boost(rows, earlier, settings, lookAtLater, rest);
  const calibration = fitCalibration(
    best.logits,
    Uint8Array.from(later, (row) => rows.labels[row] as number),
    Float64Array.from(later, (row) => rows.weights[row] as number),
  );
  const judged = scoredRows(
    rows,
    later,
    best.logits.map((logit) => calibrated(logit, calibration)),
  );
  const forest = boost(
    rows,
    indexes(count, () => true),
    { ...settings, trees: best.tree },
    (tree) => {
      onProgress(0.5 + (tree / best.tree) * 0.5);
      return true;
    },
    rest,
  );
  return {
    forest,
    calibration,
    metrics: {
      ...rankingMetrics(judged),
      log_loss: logLoss(judged),
      calibration: calibrationBands(judged),
      answered: rankingMetrics(
        scoredRows(
          rows,
          later,
          Float64Array.from(later, (row) => rows.answered[row] as number),
        ),
      ),
      rows: count,
      frauds: frauds + laterFrauds,
      validation_rows: later.length,
      validation_frauds: laterFrauds,
      trees: best.tree,
      features: rows.edges.filter(({ length }) => length > 0).length,
      trained_from: iso(first),
      trained_to: iso(last),
      validated_from: iso(split),
    },
  };
}

/** The instant from which on events are kept for validation, of events at these instants. */
export function validatedFrom(at: Float64Array): number {
  const { first, last } = spanOf(at);
  return last - (last - first) * VALIDATION_SHARE;
}

function spanOf(instants: Float64Array): { readonly first: number; readonly last: number } {
  let first = Infinity;
  let last = -Infinity;
  for (const at of instants) {
    first = Math.min(first, at);
    last = Math.max(last, at);
  }
  return { first, last };
}

/** One at a time: a hundred thousand rows that live until the sum is made would be carried on by the garbage collector. */
function* probabilities(
  { labels, weights }: LearningRows,
  chosen: Uint32Array,
  logits: Float64Array,
): Generator<Probability> {
  for (const [index, row] of chosen.entries()) {
    yield {
      score: sigmoid(logits[index] as number),
      isFraud: labels[row] === 1,
      weight: weights[row] as number,
    };
  }
}

function scoredRows(rows: LearningRows, chosen: Uint32Array, scores: Float64Array): ScoredRow[] {
  return Array.from(chosen, (row, index) => ({
    score: scores[index] as number,
    isFraud: rows.labels[row] === 1,
    weight: rows.weights[row] as number,
    day: Math.floor((rows.at[row] as number) / 86_400_000),
    card: rows.cards[row] ?? '',
  }));
}

function indexes(count: number, isChosen: (row: number) => boolean): Uint32Array {
  return new Uint32Array(count).map((_, row) => row).filter(isChosen);
}

function fraudsAmong({ labels }: LearningRows, chosen: Uint32Array): number {
  let frauds = 0;
  for (const row of chosen) frauds += labels[row] as number;
  return frauds;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
