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
  const features = absentFeatures();
  decodeFeaturesInto(text, features.values);
  return features;
}

/**
 * The same into a row that is used again: whoever reads half a million of them would make gigabytes of garbage.
 *
 * @param values  as many as there are features; all are overwritten
 * @throws RangeError like {@link decodeFeatures}; the row then holds nothing of use
 */
export function decodeFeaturesInto(text: string, values: number[] | Float64Array): void {
  const colon = text.indexOf(':');
  if (Number(text.slice(0, colon)) !== FEATURES_VERSION) {
    throw new RangeError(`Stored features are not of version ${FEATURES_VERSION}.`);
  }
  let at = 0;
  for (let from = colon + 1; from <= text.length;) {
    const comma = text.indexOf(',', from);
    const to = comma < 0 ? text.length : comma;
    const run = text[from];
    const isRun = run === 'z' || run === 'n' || run === 'r';
    const token = text.slice(isRun ? from + 1 : from, to);
    const number = Number(token);
    const end = isRun ? at + number : at + 1;
    if (!Number.isFinite(number) || token === '' || !(end > at && end <= values.length)) {
      throw new RangeError('Stored features are not readable.');
    }
    if (!isRun) values[at] = number;
    else if (run === 'z') values.fill(0, at, end);
    else if (run === 'n') values.fill(Number.NaN, at, end);
    else values.fill(at === 0 ? Number.NaN : (values[at - 1] as number), at, end);
    at = end;
    from = to + 1;
  }
  if (at !== values.length) throw new RangeError('Stored features are not readable.');
}
