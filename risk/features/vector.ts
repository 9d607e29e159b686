import { FEATURES, FEATURES_VERSION, featurePosition } from './definitions.ts';

/** The features of one event: values in the order of FEATURES, NaN where a feature is absent. */
export interface Features {
  readonly version: number;
  readonly values: Float64Array;
}

/** A vector in which every feature is absent. */
export function absentFeatures(): Features {
  return { version: FEATURES_VERSION, values: new Float64Array(FEATURES.length).fill(Number.NaN) };
}

/**
 * The value of a feature; undefined where it is absent.
 *
 * @throws RangeError for a name that no feature has: a misspelt name would otherwise never be noticed
 */
export function featureValue(features: Features, name: string): number | undefined {
  const position = featurePosition(name);
  if (position === undefined) throw new RangeError(`There is no feature ${name}; see FEATURES.`);
  const value = features.values[position] as number;
  return Number.isNaN(value) ? undefined : value;
}

/**
 * Compact text of a vector: version, ':', then values separated by commas; `z7` stands for seven zeros, `n7` for seven
 * absent ones. Numbers are written as JavaScript writes them, so they come back to the last bit.
 */
export function encodeFeatures(features: Features): string {
  const { values } = features;
  let text = `${features.version}:`;
  for (let at = 0; at < values.length;) {
    const value = values[at] as number;
    let end = at + 1;
    if (value === 0) {
      while (end < values.length && values[end] === 0) end++;
      text += `z${end - at},`;
    } else if (Number.isNaN(value)) {
      while (end < values.length && Number.isNaN(values[end])) end++;
      text += `n${end - at},`;
    } else {
      text += `${value},`;
    }
    at = end;
  }
  return text.slice(0, -1);
}

/**
 * The vector that {@link encodeFeatures} wrote.
 *
 * @throws RangeError where the text is of another version or not of this form
 */
export function decodeFeatures(text: string): Features {
  const colon = text.indexOf(':');
  if (Number(text.slice(0, colon)) !== FEATURES_VERSION) {
    throw new RangeError(`Stored features are not of version ${FEATURES_VERSION}.`);
  }
  const features = absentFeatures();
  let at = 0;
  for (const token of text.slice(colon + 1).split(',')) {
    const isRun = token[0] === 'z' || token[0] === 'n';
    const number = Number(isRun ? token.slice(1) : token);
    const end = isRun ? at + number : at + 1;
    if (!Number.isFinite(number) || token === '' || !(end > at && end <= FEATURES.length)) break;
    if (!isRun) features.values[at] = number;
    else if (token[0] === 'z') features.values.fill(0, at, end);
    at = end;
  }
  if (at !== FEATURES.length) throw new RangeError('Stored features are not readable.');
  return features;
}
