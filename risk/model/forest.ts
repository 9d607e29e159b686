/**
 * A boosted forest: the sum of its trees' values on top of `base` is the logit of the probability of fraud. Flat arrays
 * over the nodes of all trees, children after their parents, so that a walk touches few cache lines.
 */
export interface Forest {
  readonly base: number;
  /** First node of each tree. */
  readonly roots: readonly number[];
  /** Position of the feature that a node asks for; -1 for a leaf. */
  readonly features: Int32Array;
  /** At or above it the walk goes to `rights`, below it or absent to `lefts`. */
  readonly thresholds: Float64Array;
  readonly lefts: Int32Array;
  readonly rights: Int32Array;
  /** What a leaf adds; in a split the mean of what is below it, weighted by training rows. */
  readonly values: Float64Array;
}

/** The logit of one vector. */
export function logitOf(forest: Forest, vector: ArrayLike<number>): number {
  const { roots, features, thresholds, lefts, rights, values } = forest;
  let sum = forest.base;
  for (const root of roots) {
    let node = root;
    let feature = features[node] as number;
    while (feature >= 0) {
      // An absent value fails the comparison.
      node = (
        (vector[feature] as number) >= (thresholds[node] as number) ? rights[node] : lefts[node]
      ) as number;
      feature = features[node] as number;
    }
    sum += values[node] as number;
  }
  return sum;
}

/**
 * How much each feature moved the logit of one vector away from the forest's mean: at each split on its way the change
 * of the mean goes to the split's feature. The changes and the mean add up to the logit.
 *
 * @returns position of a feature -> its change
 */
export function contributionsOf(forest: Forest, vector: ArrayLike<number>): Map<number, number> {
  const { roots, features, thresholds, lefts, rights, values } = forest;
  const changes = new Map<number, number>();
  for (const root of roots) {
    let node = root;
    let feature = features[node] as number;
    while (feature >= 0) {
      const next = (
        (vector[feature] as number) >= (thresholds[node] as number) ? rights[node] : lefts[node]
      ) as number;
      const change = (values[next] as number) - (values[node] as number);
      changes.set(feature, (changes.get(feature) ?? 0) + change);
      node = next;
      feature = features[node] as number;
    }
  }
  return changes;
}

/** Probability of a logit. */
export function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}
