import { type FoldedText, hexValue, isDigit, isLetter } from './folded-text.ts';

/**
 * Whether a text holds a full IPv6 address (RFC 4291, section 2.2), mapped IPv4 addresses included.
 *
 * Not taken for one: a prefix whose host bits are zero and whose mask is at most /64, times (`12:30:45`), MAC and
 * EUI-64 addresses, fingerprints, words without any digit (`dead::beef`), and `12::30` with two short groups.
 */
export function hasIpv6(text: FoldedText): boolean {
  if (text.colons < 2 || text.digits === 0) return false;
  const { codes, length } = text;
  let at = 0;
  while (at < length) {
    let end = at;
    let colons = 0;
    let dots = 0;
    let hasGap = false;
    for (; end < length && isAddressCode(codes[end] as number); end++) {
      if (codes[end] === 0x3a) {
        colons++;
        hasGap ||= codes[end + 1] === 0x3a;
      } else if (codes[end] === 0x2e) {
        dots++;
      }
    }
    // Without a gap, eight groups need seven colons, or six and a dotted end: times and hours never get further.
    const isLong = colons >= 7 || (colons === 6 && dots >= 3);
    if ((hasGap || isLong) && isAddress(codes, length, at, end)) return true;
    at = end + 1;
  }
  return false;
}

function isAddressCode(code: number): boolean {
  return code === 0x3a || code === 0x2e || hexValue(code) >= 0;
}

function isAddress(codes: Uint8Array, length: number, from: number, to: number): boolean {
  let start = from;
  let end = to;
  if (codes[start] === 0x3a && codes[start + 1] !== 0x3a)
    start++; // `ip:2001:db8::1`
  else if (isLetter(codes[from - 1])) return false;
  if (codes[end - 1] === 0x2e) end--; // the end of a sentence
  if (codes[end - 1] === 0x3a && codes[end - 2] !== 0x3a) end--;
  else if (isLetter(codes[to])) return false;

  const groups = readGroups(codes, start, end);
  return groups !== undefined && !isAllowedPrefix(codes, length, end, groups);
}

/** Groups of the address being read; reused between calls, since most that look like one are none. */
const read = new Uint16Array(8);

/** The eight 16-bit groups, or undefined where the text is no address or one of the excused forms. */
function readGroups(codes: Uint8Array, start: number, end: number): number[] | undefined {
  let count = 0;
  let gap = -1;
  let hasDigit = false;
  let twoDigitGroups = 0;
  let firstSize = 0;
  let at = start;
  while (at < end) {
    if (codes[at] === 0x3a) {
      // A single colon stands between two groups; a double one may also begin or end the address.
      if (codes[at + 1] === 0x3a && at + 1 < end) {
        if (gap >= 0) return undefined;
        gap = count;
        at += 2;
        continue;
      }
      if (count === 0 || at + 1 >= end) return undefined;
      at++;
      continue;
    }
    if (count === 8) return undefined;
    let value = 0;
    let size = 0;
    for (; at < end && codes[at] !== 0x3a; at++, size++) {
      if (codes[at] === 0x2e) {
        const quad = readQuad(codes, at - size, end);
        if (quad === undefined) return undefined;
        read[count++] = quad >>> 16;
        read[count++] = quad & 0xffff;
        return complete(count, gap);
      }
      if (size === 4) return undefined;
      value = value * 16 + hexValue(codes[at]);
      hasDigit ||= isDigit(codes[at]);
    }
    if (count === 0) firstSize = size;
    if (size === 2) twoDigitGroups++;
    read[count++] = value;
  }
  if (!hasDigit || twoDigitGroups === 8) return undefined;
  const isTooShort = gap > 0 && count < 3 && firstSize < 3;
  return isTooShort || count === 0 ? undefined : complete(count, gap);
}

function complete(count: number, gap: number): number[] | undefined {
  if (gap < 0) return count === 8 ? [...read] : undefined;
  if (count > 7) return undefined;
  const zeros = Array.from({ length: 8 - count }, () => 0);
  return [...read.subarray(0, gap), ...zeros, ...read.subarray(gap, count)];
}

/** The dotted IPv4 address that fills codes[from, end), as 32 bits. */
function readQuad(codes: Uint8Array, from: number, end: number): number | undefined {
  let quad = 0;
  let parts = 0;
  let at = from;
  while (at < end) {
    let octet = 0;
    const start = at;
    for (; at < end && isDigit(codes[at]); at++) octet = octet * 10 + (codes[at] as number) - 0x30;
    if (at === start || at - start > 3 || octet > 255 || ++parts > 4) return undefined;
    quad = ((quad << 8) | octet) >>> 0;
    if (at < end && codes[at++] !== 0x2e) return undefined;
  }
  return parts === 4 ? quad : undefined;
}

function isAllowedPrefix(
  codes: Uint8Array,
  length: number,
  end: number,
  groups: readonly number[],
): boolean {
  if (codes[end] !== 0x2f || end + 1 >= length) return false;
  let mask = 0;
  let at = end + 1;
  for (; at < length && isDigit(codes[at]) && at < end + 4; at++)
    mask = mask * 10 + (codes[at] as number) - 0x30;
  if (at === end + 1 || mask > 64 || (at < length && isDigit(codes[at]))) return false;
  return groups.every((group, i) => {
    const networkBits = Math.min(16, Math.max(0, mask - i * 16));
    return (group & (0xffff >>> networkBits)) === 0;
  });
}
