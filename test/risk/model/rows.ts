import { FEATURES, featurePosition } from '../../../risk/features/definitions.ts';
import { binOf, findEdges } from '../../../risk/model/bins.ts';
import type { LearningRows } from '../../../risk/model/learn.ts';
import { randomSource } from '../events.ts';

const DAY = 86_400_000;
const START = Date.UTC(2026, 2, 1);

/** Position of a feature that is known to exist. */
export const at = (name: string): number => featurePosition(name) as number;

/** Rows as learning gets them, and the vectors they were made of. */
export interface MadeRows {
  readonly rows: LearningRows;
  readonly vectors: readonly number[][];
}

/**
 * Payments of which those far above the card's mean, and those at a merchant with frauds, are often frauds; the rest are
 * noise in other features. Absent values among them.
 */
export function makeRows(count: number, seed: number): MadeRows {
  const random = randomSource(seed);
  const vectors = Array.from({ length: count }, () => {
    const vector = FEATURES.map(() => Number.NaN);
    vector[at('card_amount_ratio_30d')] = random(10) === 0 ? Number.NaN : random(6_000) / 1_000;
    vector[at('merchant_frauds_labelled_30d')] = random(8) === 0 ? 1 + random(3) : 0;
    vector[at('event_amount')] = random(100_000);
    vector[at('event_hour')] = random(24);
    vector[at('card_attempts_24h')] = random(5);
    return vector;
  });
  const labels = Uint8Array.from(vectors, (vector) => {
    const ratio = vector[at('card_amount_ratio_30d')] as number;
    const isOdd = ratio > 5 || (vector[at('merchant_frauds_labelled_30d')] as number) > 1;
    return random(100) < (isOdd ? 60 : 1) ? 1 : 0;
  });
  const edges = findEdges(
    FEATURES.map((_, feature) => Float64Array.from(vectors, (vector) => vector[feature] as number)),
  );
  return {
    vectors,
    rows: {
      edges,
      columns: edges.map((each, feature) =>
        Uint8Array.from(each.length === 0 ? [] : vectors, (vector) =>
          binOf(each, vector[feature] as number),
        ),
      ),
      labels,
      weights: new Float64Array(count).fill(1),
      at: Float64Array.from(vectors, (_, row) => START + (row * 28 * DAY) / count),
      answered: new Float64Array(count),
      cards: vectors.map((_, row) => `c${row % 200}`),
    },
  };
}
