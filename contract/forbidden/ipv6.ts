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
    while (end < length && isAddressCode(codes[end] as number)) end++;
    if (end - at > 2 && isAddress(codes, length, at, end)) return true;
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

/** The eight 16-bit groups, or undefined where the text is no address or one of the excused forms. */
function readGroups(codes: Uint8Array, start: number, end: number): number[] | undefined {
  const groups: number[] = [];
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
        gap = groups.length;
        at += 2;
        continue;
      }
      if (groups.length === 0 || at + 1 >= end) return undefined;
      at++;
      continue;
    }
    if (groups.length === 8) return undefined;
    let value = 0;
    let size = 0;
    for (; at < end && codes[at] !== 0x3a; at++, size++) {
      if (codes[at] === 0x2e) {
        const quad = readQuad(codes, at - size, end);
        if (quad === undefined) return undefined;
        groups.push(quad >>> 16, quad & 0xffff);
        return complete(groups, gap);
      }
      if (size === 4) return undefined;
      value = value * 16 + hexValue(codes[at]);
      hasDigit ||= isDigit(codes[at]);
    }
    if (groups.length === 0) firstSize = size;
    if (size === 2) twoDigitGroups++;
    groups.push(value);
  }
  if (!hasDigit || twoDigitGroups === 8) return undefined;
  const isTooShort = gap > 0 && groups.length < 3 && firstSize < 3;
  return isTooShort || groups.length === 0 ? undefined : complete(groups, gap);
}

function complete(groups: readonly number[], gap: number): number[] | undefined {
  if (gap < 0) return groups.length === 8 ? [...groups] : undefined;
  if (groups.length > 7) return undefined;
  const zeros = Array.from({ length: 8 - groups.length }, () => 0);
  return [...groups.slice(0, gap), ...zeros, ...groups.slice(gap)];
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
