import { type FoldedText, hexValue, isDigit, isLetter } from './folded-text.ts';
import { isCardLength, isCardNumber, isEan13 } from './issuer-ranges.ts';
import { type KeyContext, NO_CONTEXT } from './key-names.ts';

/** Digit groups in which cards are printed and typed, besides fours with a shorter last group. */
const GROUPINGS = [
  [4, 6, 5], // American Express
  [4, 6, 4], // Diners Club
  [4, 4, 5], // 13-digit Visa
  [4, 3, 3, 3],
  [6, 13], // 19-digit cards
  [6, 6, 4], // BIN, middle, last four
];

/** The sizes of {@link GROUPINGS} by their first two: most groups have a neighbour that begins none. */
const GROUPINGS_BY_BEGINNING: (readonly number[])[][] = Array.from({ length: 7 * 16 }, () => []);
for (const sizes of GROUPINGS) {
  GROUPINGS_BY_BEGINNING[(sizes[0] as number) * 16 + (sizes[1] as number)]?.push(sizes);
}

/** How far to both sides of a digit run a hash is looked for: far enough to tell, short enough to stay linear. */
const LONGEST_LOOK = 40;

/** Digit runs joined by single separators: `4111-1111 12.5` is one chain of four. Reused between calls. */
const chain = {
  count: 0,
  digits: 0,
  starts: [] as number[],
  lengths: [] as number[],
  separators: [] as number[],
};

/**
 * Whether a text holds a payment card number: 13..19 digits of a known issuer range with Luhn's check digit, as
 * one whole run of digits, or as card-like groups with one and the same space, dash or dot between them.
 *
 * Not taken for one: a window inside a longer run of digits or of groups, a decimal, a run
 * inside a hash (24 or more hexadecimal characters), and a phone number with its plus sign.
 * Linear: every digit run is looked at a bounded number of times.
 */
export function hasCardNumber(text: FoldedText, context: KeyContext = NO_CONTEXT): boolean {
  if (text.digits < 13) return false;
  const { codes, length } = text;
  let at = 0;
  while (at < length) {
    if (!isDigit(codes[at])) {
      at++;
    } else if (!isDigit(codes[at + 1]) && !isSeparator(codes[at + 1])) {
      at += 2; // a digit alone, as in `1:2:3` and `a1b2`
    } else {
      at = readChain(codes, length, at);
      if (chain.digits >= 13 && chainHoldsCard(codes, length, context)) return true;
    }
  }
  return false;
}

/** Whether an integer, written out, is a card number. */
export function isCardInteger(value: number, context: KeyContext = NO_CONTEXT): boolean {
  const size = Math.abs(value);
  if (size < 1e12 || size > Number.MAX_SAFE_INTEGER || !Number.isInteger(size)) return false;
  const digits = Array.from(String(size), Number);
  return isCardNumber(digits) && !isExcused(digits, context);
}

function readChain(codes: Uint8Array, length: number, from: number): number {
  let at = from;
  let separator = 0;
  let count = 0;
  let digits = 0;
  for (;;) {
    const start = at;
    while (at < length && isDigit(codes[at])) at++;
    chain.starts[count] = start;
    chain.lengths[count] = at - start;
    chain.separators[count] = separator;
    count++;
    digits += at - start;
    separator = codes[at] as number; // 0 behind the text
    if (!isSeparator(separator) || !isDigit(codes[at + 1])) break;
    at++;
  }
  chain.count = count;
  chain.digits = digits;
  return at;
}

/** Whether a folded code is one of ' ', '-' and '.'. */
function isSeparator(code: number | undefined): boolean {
  return code === 0x20 || code === 0x2d || code === 0x2e;
}

function chainHoldsCard(codes: Uint8Array, length: number, context: KeyContext): boolean {
  for (let group = 0; group < chain.count; group++) {
    const size = chain.lengths[group] as number;
    if (size >= 13) {
      if (size <= 19 && isPlainCard(codes, length, group, context)) return true;
    } else if (size === 4 || size === 6) {
      if (size === 4 && isCardInFours(codes, group)) return true;
      if (isCardInGroups(codes, group)) return true;
    }
  }
  return false;
}

function isPlainCard(
  codes: Uint8Array,
  length: number,
  group: number,
  context: KeyContext,
): boolean {
  const size = chain.lengths[group] as number;
  if (chain.separators[group] === 0x2e || hasFraction(codes, group)) return false;
  if (!mayBeCard(codes, group, size)) return false;
  const digits = digitsOf(codes, group, 1);
  if (!isCardNumber(digits) || isExcused(digits, context)) return false;
  const start = chain.starts[group] as number;
  const isPhone = size <= 15 && codes[start - 1] === 0x2b; // E.164 allows 15 digits after the plus
  return !isPhone && !isInsideHash(codes, length, start);
}

/** Whether a decimal fraction other than zeros follows: a card number read as a float ends in `.0`. */
function hasFraction(codes: Uint8Array, group: number): boolean {
  if (chain.separators[group + 1] !== 0x2e || group + 1 >= chain.count) return false;
  return digitsOf(codes, group + 1, 1).some((digit) => digit !== 0);
}

/** Excused by the key: barcodes such as 4901234567894 are Visa-like, and so are German phone numbers. */
function isExcused(digits: readonly number[], context: KeyContext): boolean {
  return (context.isBarcode && isEan13(digits)) || (context.isPhone && digits.length <= 15);
}

/** 16 digits as 4-4-4-4; 13..15 and 17..19 with a last group of 1..3. A run of five or more fours is a serial number. */
function isCardInFours(codes: Uint8Array, group: number): boolean {
  if (chain.lengths[group] !== 4) return false;
  const separator = chain.separators[group + 1];
  const continues = chain.separators[group] === separator && chain.lengths[group - 1] === 4;
  if (group > 0 && continues) return false;
  let end = group + 1;
  while (end < chain.count && chain.lengths[end] === 4 && chain.separators[end] === separator)
    end++;
  const fours = end - group;
  if (fours !== 3 && fours !== 4) return false;
  if (fours === 4 && isCardAcross(codes, group, 4)) return true;
  if (end >= chain.count || chain.separators[end] !== separator) return false;
  const last = chain.lengths[end] as number;
  return last <= 3 && isCardAcross(codes, group, fours + 1);
}

function isCardInGroups(codes: Uint8Array, group: number): boolean {
  const next = group + 1 < chain.count ? (chain.lengths[group + 1] as number) : 16;
  if (next >= 16) return false;
  const beginning = (chain.lengths[group] as number) * 16 + next;
  for (const sizes of GROUPINGS_BY_BEGINNING[beginning] as (readonly number[])[]) {
    if (hasSizes(group, sizes) && isCardAcross(codes, group, sizes.length)) return true;
  }
  return false;
}

function hasSizes(group: number, sizes: readonly number[]): boolean {
  if (group + sizes.length > chain.count) return false;
  const separator = chain.separators[group + 1];
  for (let i = 1; i < sizes.length; i++) {
    if (chain.lengths[group + i] !== sizes[i]) return false;
    if (chain.separators[group + i] !== separator) return false;
  }
  return true;
}

function isCardAcross(codes: Uint8Array, group: number, groups: number): boolean {
  let size = 0;
  for (let g = group; g < group + groups; g++) size += chain.lengths[g] as number;
  if (!mayBeCard(codes, group, size)) return false;
  if (!isCardNumber(digitsOf(codes, group, groups)) || isInList(group, groups)) return false;
  const last = group + groups - 1;
  const end = (chain.starts[last] as number) + (chain.lengths[last] as number);
  // In a UUID such as …-4222-4222-22222abcdef0 the last digits only begin a hexadecimal group.
  return !touchesHex(codes, (chain.starts[group] as number) - 1, -1) && !touchesHex(codes, end, 1);
}

/** Whether more than two further groups join with the same separator: an expiry and a code may follow, a list goes on. */
function isInList(group: number, groups: number): boolean {
  const separator = chain.separators[group + 1];
  let others = 0;
  for (let g = group; others < 3 && g > 0 && chain.separators[g] === separator; g--) others++;
  for (let g = group + groups; others < 3 && g < chain.count; g++, others++) {
    if (chain.separators[g] !== separator) break;
  }
  return others > 2;
}

/** Whether letters a..f, and no others, join the digits on one side. */
function touchesHex(codes: Uint8Array, at: number, step: 1 | -1): boolean {
  let i = at;
  while (hexValue(codes[i]) >= 0 && Math.abs(i - at) < 12) i += step;
  return i !== at && !isLetter(codes[i]);
}

/** Whether `size` digits may begin as the group does, which has four or more: told before they are copied. */
function mayBeCard(codes: Uint8Array, group: number, size: number): boolean {
  const start = chain.starts[group] as number;
  let prefix = 0;
  for (let i = start; i < start + 4; i++) prefix = prefix * 10 + (codes[i] as number) - 0x30;
  return isCardLength(prefix, size);
}

function digitsOf(codes: Uint8Array, group: number, groups: number): number[] {
  const digits: number[] = [];
  for (let g = group; g < group + groups; g++) {
    const start = chain.starts[g] as number;
    const end = start + (chain.lengths[g] as number);
    for (let i = start; i < end; i++) digits.push((codes[i] as number) - 0x30);
  }
  return digits;
}

/**
 * Whether the run belongs to 24 or more letters and digits, all hexadecimal, at least four of them letters.
 * Looks at most {@link LONGEST_LOOK} codes to either side, so that a body made of such runs stays linear.
 */
function isInsideHash(codes: Uint8Array, length: number, at: number): boolean {
  const from = Math.max(0, at - LONGEST_LOOK);
  const to = Math.min(length, at + LONGEST_LOOK);
  let start = at;
  while (start > from && hexValue(codes[start - 1]) >= 0) start--;
  let letters = 0;
  let end = start;
  for (; end < to && hexValue(codes[end]) >= 0; end++) if (isLetter(codes[end])) letters++;
  const isHexOnly = hexOrEdge(codes, start - 1) && hexOrEdge(codes, end);
  return end - start >= 24 && letters >= 4 && isHexOnly;
}

/** False for g..z: then the word is no hexadecimal number. */
function hexOrEdge(codes: Uint8Array, at: number): boolean {
  return hexValue(codes[at]) >= 0 || !isLetter(codes[at]);
}
