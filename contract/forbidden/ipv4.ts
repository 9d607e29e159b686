import { type FoldedText, isDigit, isLetter, wordBefore } from './folded-text.ts';
import { type KeyContext, NO_CONTEXT } from './key-names.ts';

/** Words that announce a version or a numbered section, not an address. */
const VERSION_WORDS = new Set(
  'v ver version rev r revision build release firmware section chapter clause article oid'.split(
    ' ',
  ),
);
/** Words that announce an address even before a slash, where a product name would stand. */
const ADDRESS_WORDS = new Set(
  `ip ipv4 ipaddr addr address host hostname client from via by for src source dst remote server peer proxy forwarded
  at to user login whois`.split(/\s+/),
);
const VERSION_SUFFIXES =
  /^[-+](?:alpha|beta|rc|dev|snapshot|release|final|pre|build|hotfix|debug|stable)/;

/**
 * Whether a text holds a full IPv4 address.
 *
 * Not taken for one: a prefix whose host bits are zero and whose mask is at most /24, sequences of more than four
 * numbers, `120.0.0.0` (no host has it, browsers report it as their version), and four-part versions: after a
 * product and a slash, after `v` or `version`, before `-beta` and the like, or under a key that says version.
 */
export function hasIpv4(text: FoldedText, context: KeyContext = NO_CONTEXT): boolean {
  if (text.dots < 3 || text.digits < 4 || context.isVersion) return false;
  const { codes, length } = text;
  let at = 0;
  while (at < length) {
    if (!isDigit(codes[at])) {
      at++;
      continue;
    }
    const dotted = readDotted(codes, length, at);
    if (dotted.isQuad && isAddress(codes, length, at, dotted, context)) return true;
    at = dotted.end;
  }
  return false;
}

type Dotted = { end: number; isQuad: boolean; octets: number[] };

/** Reads numbers joined by single dots as far as they go. */
function readDotted(codes: Uint8Array, length: number, from: number): Dotted {
  const octets: number[] = [];
  let parts = 0;
  let areOctets = true;
  let padded = 0;
  let full = 0;
  let at = from;
  for (;;) {
    const start = at;
    let value = 0;
    for (; at < length && isDigit(codes[at]); at++) {
      if (at - start < 4) value = value * 10 + (codes[at] as number) - 0x30;
    }
    parts++;
    areOctets &&= at - start <= 3 && value <= 255;
    if (at - start === 3) full++;
    if (at - start > 1 && codes[start] === 0x30) padded++;
    if (parts <= 4) octets.push(value);
    if (codes[at] !== 0x2e || at + 1 >= length || !isDigit(codes[at + 1])) break;
    at++;
  }
  // `203.000.113.007` is padded throughout; `26.03.01.09` is a date and `6.092.101.023` a large number.
  const isQuad = parts === 4 && areOctets && (padded === 0 || full === 4);
  return { end: at, isQuad, octets };
}

function isAddress(
  codes: Uint8Array,
  length: number,
  start: number,
  { end, octets }: Dotted,
  context: KeyContext,
): boolean {
  const mask = readMask(codes, length, end);
  if (mask !== undefined) return mask > 24 || hasHostBits(octets, mask);
  const isNetwork = octets[1] === 0 && octets[2] === 0 && octets[3] === 0;
  return (
    !isNetwork &&
    !followsVersionWord(codes, start, context) &&
    !continuesVersion(codes, length, end)
  );
}

/** The number after a slash, if it can be a mask (0..32). */
function readMask(codes: Uint8Array, length: number, end: number): number | undefined {
  if (end >= length || codes[end] !== 0x2f) return undefined;
  let mask = 0;
  let at = end + 1;
  for (; at < length && isDigit(codes[at]) && at < end + 4; at++)
    mask = mask * 10 + (codes[at] as number) - 0x30;
  return at > end + 1 && mask <= 32 ? mask : undefined;
}

function hasHostBits(octets: readonly number[], mask: number): boolean {
  return octets.some((octet, i) => {
    const networkBits = Math.min(8, Math.max(0, mask - i * 8));
    return (octet & (0xff >>> networkBits)) !== 0;
  });
}

function followsVersionWord(codes: Uint8Array, start: number, context: KeyContext): boolean {
  if (codes[start - 1] === 0x2f) {
    const product = wordBefore(codes, start - 1, 32);
    const before = codes[start - 2 - product.length];
    // `Chrome/1.2.3.4` is a version; `example.com/1.2.3.4` and `/whois/1.2.3.4` are not.
    const isInUrl = before === 0x2e || before === 0x2f || before === 0x3a || before === 0x40;
    return product !== '' && !isInUrl && !ADDRESS_WORDS.has(product);
  }
  let at = start;
  while (at > 0 && start - at < 3 && isJoint(codes[at - 1] as number)) at--;
  const word = wordBefore(codes, at);
  if (VERSION_WORDS.has(word)) return true;
  return context.isUserAgent && word !== '' && !ADDRESS_WORDS.has(word);
}

/** What may stand between `version` and its number: blank, colon, equals sign, quotes, dot, dash, underscore. */
function isJoint(code: number): boolean {
  return (
    code === 0x20 ||
    code === 0x3a ||
    code === 0x3d ||
    code === 0x22 ||
    code === 0x27 ||
    code === 0x2e ||
    code === 0x2d ||
    code === 0x5f
  );
}

/** `1.2.3.4-beta`, `1.2.3.4b2`. */
function continuesVersion(codes: Uint8Array, length: number, end: number): boolean {
  if (end < length && isLetter(codes[end])) return true;
  const rest = String.fromCharCode(...codes.subarray(end, Math.min(length, end + 10)));
  return VERSION_SUFFIXES.test(rest);
}
