/**
 * Stands between texts that travel as one parameter and are cut apart again by `string_to_array`. An array parameter
 * would have every quote escaped by the driver and parsed again by the server. Only for texts that cannot hold it:
 * JSON escapes control characters.
 */
export const RECORD_SEPARATOR = '\u001e';

/** JSON texts as one parameter. */
export const joinTexts = (texts: readonly string[]): string => texts.join(RECORD_SEPARATOR);

/**
 * Numbers, ids and bare words as the text of a PostgreSQL array: the driver quotes and escapes every element of an
 * array it is given. Never for anything that a caller sent.
 */
export const bareArray = (values: readonly (string | number | bigint)[]): string =>
  `{${values.join()}}`;
