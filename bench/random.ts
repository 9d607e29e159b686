/** A stream of numbers in [0, 1), the same for the same seed. Mulberry32: fast and even enough for test data. */
export function randomStream(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Letters without vowels and digits: no token made of them can look like a word, a card number or an address. */
const LETTERS = 'bcdfghjklmnpqrstvwxz';

/** A whole number as letters of a fixed length; the numbers of one length never collide while they fit. */
export function lettersOf(value: number, length: number): string {
  let rest = value;
  let text = '';
  for (let i = 0; i < length; i += 1) {
    text = LETTERS.charAt(rest % LETTERS.length) + text;
    rest = Math.floor(rest / LETTERS.length);
  }
  return text;
}
