/**
 * An array parameter, written by us: `{1,2,3}`. The driver would quote and search every element for what must be
 * escaped. Only for ids, numbers, UUIDs and words of the contract's enumerations, which hold none of it.
 */
export const plainArray = (values: readonly (bigint | number | string)[] | BigInt64Array): string =>
  `{${values.join(',')}}`;

/** An array parameter of byte strings, given as hex. */
export const bytesArray = (hexes: readonly string[]): string =>
  hexes.length === 0 ? '{}' : `{"\\\\x${hexes.join('","\\\\x')}"}`;
