import { hash } from 'node:crypto';
import { FEATURES, FEATURES_VERSION, featurePosition } from '../features/definitions.ts';
import type { Features } from '../features/vector.ts';
import type { Calibration } from './calibrate.ts';
import { logitOf, sigmoid, type Forest } from './forest.ts';

/** A model as it judges. The same features always give the same probability, to the last bit. */
export interface Model {
  /** Decimal text; names the model in results. */
  readonly id: string;
  /** First 8 hex digits of SHA-256 over its text. */
  readonly contentHash: string;
  readonly forest: Forest;
  readonly calibration: Calibration;
}

/** The JSON text of a model: features by name, so that a later order of the vector cannot mislead it. */
interface Stored {
  readonly format: 1;
  readonly features_version: number;
  readonly calibration: Calibration;
  readonly base: number;
  /** Names that `features` points into. */
  readonly names: readonly string[];
  readonly roots: readonly number[];
  /** Per node: index of a name, -1 for a leaf. */
  readonly features: readonly number[];
  readonly thresholds: readonly number[];
  readonly lefts: readonly number[];
  readonly rights: readonly number[];
  readonly values: readonly number[];
}

/** The text of a model. Numbers come back to the last bit. */
export function encodeModel(forest: Forest, calibration: Calibration): string {
  const used = [...new Set(forest.features)]
    .filter((position) => position >= 0)
    .toSorted((a, b) => a - b);
  const indexes = new Map(used.map((position, index) => [position, index]));
  const stored: Stored = {
    format: 1,
    features_version: FEATURES_VERSION,
    calibration,
    base: forest.base,
    names: used.map((position) => FEATURES[position]?.name ?? ''),
    roots: forest.roots,
    features: [...forest.features].map((position) => indexes.get(position) ?? -1),
    thresholds: [...forest.thresholds],
    lefts: [...forest.lefts],
    rights: [...forest.rights],
    values: [...forest.values],
  };
  return JSON.stringify(stored);
}

/** Names a model's content in results. */
export function modelHash(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 8);
}

/**
 * The model that {@link encodeModel} wrote.
 *
 * @throws RangeError where the text was learned from other features than these, or is damaged: it must not guess
 */
export function decodeModel(id: string, text: string): Model {
  const stored = JSON.parse(text) as Stored;
  if (stored.format !== 1 || stored.features_version !== FEATURES_VERSION) {
    throw new RangeError(`A stored model is not of features version ${FEATURES_VERSION}.`);
  }
  const positions = stored.names.map((name) => {
    const position = featurePosition(name);
    if (position === undefined) throw new RangeError('A stored model reads an unknown feature.');
    return position;
  });
  const count = stored.features.length;
  const { thresholds, lefts, rights, values } = stored;
  const isWhole = [thresholds, lefts, rights, values].every(({ length }) => length === count);
  // Children stand behind their parents, so no walk can go round in circles.
  const isForest = stored.features.every(
    (feature, node) =>
      feature === -1 ||
      (positions[feature] !== undefined &&
        (lefts[node] as number) > node &&
        (rights[node] as number) > node &&
        (lefts[node] as number) < count &&
        (rights[node] as number) < count),
  );
  if (!isWhole || !isForest || !stored.roots.every((root) => root >= 0 && root < count)) {
    throw new RangeError('A stored model is not readable.');
  }
  return {
    id,
    contentHash: modelHash(text),
    calibration: stored.calibration,
    forest: {
      base: stored.base,
      roots: stored.roots,
      features: Int32Array.from(stored.features, (index) => (index < 0 ? -1 : positions[index]!)),
      thresholds: Float64Array.from(thresholds),
      lefts: Int32Array.from(lefts),
      rights: Int32Array.from(rights),
      values: Float64Array.from(values),
    },
  };
}

/** The probability, 0 to 1, that an event with these features will be confirmed as fraud. */
export function probabilityOf({ forest, calibration }: Model, { values }: Features): number {
  return calibrated(logitOf(forest, values), calibration);
}

/** The probability of a forest's logit. */
export function calibrated(logit: number, { scale, shift }: Calibration): number {
  return sigmoid(scale * logit + shift);
}
