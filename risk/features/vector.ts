import { FEATURES, FEATURES_VERSION, featurePosition } from './definitions.ts';

/** The features of one event: values in the order of FEATURES, NaN where a feature is absent. */
export interface Features {
  readonly version: number;
  readonly values: number[];
}

/** A plain array of doubles: a typed array of this size lives outside the heap and takes twice as long to make. */
const ABSENT: readonly number[] = FEATURES.map(() => Number.NaN);

/** A vector in which every feature is absent. */
export function absentFeatures(): Features {
  return { version: FEATURES_VERSION, values: ABSENT.slice() };
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
 * absent ones, `r7` for the value before seven times more (windows often hold the same). Numbers are written as JavaScript writes them, so they come back to the last bit.
 */
export function encodeFeatures(features: Features): string {
  const { values } = features;
  const tokens: string[] = [];
  for (let at = 0; at < values.length;) {
    const value = values[at] as number;
    let end = at + 1;
    while (end < values.length && Object.is(values[end], value)) end++;
    if (value === 0) tokens.push(`z${end - at}`);
    else if (Number.isNaN(value)) tokens.push(`n${end - at}`);
    else if (end === at + 1) tokens.push(String(value));
    else tokens.push(String(value), `r${end - at - 1}`);
    at = end;
  }
  return `${features.version}:${tokens.join(',')}`;
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
  const { values } = features;
  let at = 0;
  for (const token of text.slice(colon + 1).split(',')) {
    const run = token[0] === 'z' || token[0] === 'n' || token[0] === 'r' ? token[0] : undefined;
    const number = Number(run === undefined ? token : token.slice(1));
    const end = run === undefined ? at + 1 : at + number;
    if (!Number.isFinite(number) || token === '' || !(end > at && end <= values.length)) {
      throw new RangeError('Stored features are not readable.');
    }
    if (run === undefined) values[at] = number;
    else if (run === 'z') values.fill(0, at, end);
    else if (run === 'r') values.fill(values[at - 1] ?? Number.NaN, at, end);
    at = end;
  }
  if (at !== values.length) throw new RangeError('Stored features are not readable.');
  return features;
}
