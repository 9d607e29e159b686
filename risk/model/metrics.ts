/** One judged event in a measurement. */
export interface ScoredRow {
  readonly score: number;
  readonly isFraud: boolean;
  /** How many events of the stream it stands for. */
  readonly weight: number;
  /** Day of the event, and the card or customer it belongs to; empty where it names none. */
  readonly day: number;
  readonly card: string;
}

/** How well scores rank frauds above the rest; all between 0 and 1. */
export interface RankingMetrics {
  /** Chance that a random fraud scores above a random genuine event, ties counting half. */
  readonly auc_roc: number;
  /** Sum over thresholds of (recall gained) x (precision there), tied scores together. */
  readonly average_precision: number;
  /**
   * For each day the share of the 100 cards with the highest scores that have a fraud on it, cards found on an earlier
   * day left out; the mean over the days. Among equal scores frauds come last: no order of ties is worse.
   */
  readonly card_precision_100: number;
}

/** Frauds among the events of a band of probability. */
export interface CalibrationBand {
  readonly from: number;
  readonly to: number;
  readonly events: number;
  readonly mean_probability: number;
  readonly fraud_share: number;
}

const TOP_CARDS = 100;
const BAND_EDGES = [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1];

/** Measures scores against outcomes. NaN nowhere: without frauds, or without others, every metric is 0. */
export function rankingMetrics(rows: readonly ScoredRow[]): RankingMetrics {
  const sorted = rows.toSorted((a, b) => b.score - a.score);
  const frauds = total(sorted, true);
  const genuine = total(sorted, false);
  if (frauds === 0 || genuine === 0) {
    return { auc_roc: 0, average_precision: 0, card_precision_100: 0 };
  }
  let found = 0;
  let passed = 0;
  let precision = 0;
  let pairs = 0;
  for (let at = 0; at < sorted.length;) {
    const { score } = sorted[at] as ScoredRow;
    let tiedFrauds = 0;
    let tiedGenuine = 0;
    for (; at < sorted.length && sorted[at]?.score === score; at++) {
      const { isFraud, weight } = sorted[at] as ScoredRow;
      if (isFraud) tiedFrauds += weight;
      else tiedGenuine += weight;
    }
    pairs += tiedFrauds * (genuine - passed - tiedGenuine / 2);
    found += tiedFrauds;
    passed += tiedGenuine;
    precision += (tiedFrauds / frauds) * (found / (found + passed));
  }
  return {
    auc_roc: pairs / (frauds * genuine),
    average_precision: precision,
    card_precision_100: cardPrecision(rows),
  };
}

function total(rows: readonly ScoredRow[], isFraud: boolean): number {
  let sum = 0;
  for (const row of rows) if (row.isFraud === isFraud) sum += row.weight;
  return sum;
}

function cardPrecision(rows: readonly ScoredRow[]): number {
  const days = Map.groupBy(
    rows.filter(({ card }) => card !== ''),
    ({ day }) => day,
  );
  const found = new Set<string>();
  let sum = 0;
  for (const day of [...days.keys()].toSorted((a, b) => a - b)) {
    const cards = new Map<string, { score: number; isFraud: boolean }>();
    for (const { card, score, isFraud } of days.get(day) ?? []) {
      if (found.has(card)) continue;
      const known = cards.get(card);
      cards.set(card, {
        score: Math.max(score, known?.score ?? -Infinity),
        isFraud: isFraud || known?.isFraud === true,
      });
    }
    const top = [...cards]
      .toSorted(([, a], [, b]) => b.score - a.score || Number(a.isFraud) - Number(b.isFraud))
      .slice(0, TOP_CARDS)
      .filter(([, { isFraud }]) => isFraud);
    for (const [card] of top) found.add(card);
    sum += top.length / TOP_CARDS;
  }
  return days.size === 0 ? 0 : sum / days.size;
}

/** How probabilities compare with what happened, band by band; empty bands are left out. */
export function calibrationBands(rows: readonly ScoredRow[]): CalibrationBand[] {
  return BAND_EDGES.slice(0, -1).flatMap((from, band) => {
    const to = BAND_EDGES[band + 1] as number;
    let events = 0;
    let probabilities = 0;
    let frauds = 0;
    for (const { score, weight, isFraud } of rows) {
      if (score < from || (score >= to && to < 1)) continue;
      events += weight;
      probabilities += score * weight;
      if (isFraud) frauds += weight;
    }
    if (events === 0) return [];
    return [
      {
        from,
        to,
        events: Math.round(events),
        mean_probability: probabilities / events,
        fraud_share: frauds / events,
      },
    ];
  });
}

/** What a loss is made of. */
export type Probability = Pick<ScoredRow, 'score' | 'isFraud' | 'weight'>;

/** Mean negative logarithm of the probability given to what happened: the smaller the better. */
export function logLoss(rows: Iterable<Probability>): number {
  let loss = 0;
  let weights = 0;
  for (const { score, isFraud, weight } of rows) {
    const likely = isFraud ? score : 1 - score;
    loss -= Math.log(Math.max(likely, 1e-15)) * weight;
    weights += weight;
  }
  return weights === 0 ? 0 : loss / weights;
}
