import type { Counterparts } from './counterparts.ts';

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const VALUES: readonly number[] = Array.from({ length: 128 }, (_, code) =>
  DIGITS.indexOf(String.fromCharCode(code)),
);
/** Characters per counterpart: 4 for the distance of its last sight (24 bits), 5 for its hash (30 bits). */
const WIDTH = 9;

/**
 * A list of counterparts in 9 characters each, half of what JSON needs: a hundred of them are most of a state's text.
 *
 * @param newest  sights are written as distances from it; none is later, and none that is kept is 2^24 units earlier
 */
export function packSights(list: Counterparts, newest: number): string {
  let text = '';
  for (let at = 0; at < list.length; at += 2) {
    const distance = newest - (list[at] as number);
    const hash = list[at + 1] as number;
    for (let shift = 18; shift >= 0; shift -= 6) text += DIGITS[(distance >>> shift) & 63];
    for (let shift = 24; shift >= 0; shift -= 6) text += DIGITS[(hash >>> shift) & 63];
  }
  return text;
}

/**
 * The list that {@link packSights} wrote.
 *
 * @throws RangeError where the text is not of this form
 */
export function unpackSights(text: string, newest: number): Counterparts {
  if (text.length % WIDTH !== 0 || /[^\w-]/.test(text)) {
    throw new RangeError('A stored entity state is not readable.');
  }
  const list: Counterparts = [];
  for (let at = 0; at < text.length; at += WIDTH) {
    list.push(newest - number(text, at, at + 4), number(text, at + 4, at + WIDTH));
  }
  return list;
}

function number(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) {
    value = (value << 6) | (VALUES[text.charCodeAt(at)] as number);
  }
  return value;
}
