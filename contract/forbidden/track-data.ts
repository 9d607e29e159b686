import { type FoldedText, isDigit } from './folded-text.ts';

/**
 * Whether a text holds magnetic-stripe data: track 1 (`%B`, 12..19 digits, `^`) or track 2 (`;`, 12..19 digits,
 * `=`, four or more digits). Source: ISO/IEC 7813. Tracks without sentinels are found as card numbers.
 */
export function hasTrackData(text: FoldedText): boolean {
  if (text.digits < 12 || !text.mayTrack) return false;
  const { codes, length } = text;
  let at = 0;
  while (at < length) {
    const isTrack1 = codes[at] === 0x25 && codes[at + 1] === 0x62;
    if (!isTrack1 && codes[at] !== 0x3b) {
      at++;
      continue;
    }
    const start = at + (isTrack1 ? 2 : 1);
    const end = endOfDigits(codes, length, start);
    const isNumber = end - start >= 12 && end - start <= 19;
    if (isNumber && isTrack1 && end < length && codes[end] === 0x5e) return true;
    const isSplit = isNumber && !isTrack1 && end < length && codes[end] === 0x3d;
    if (isSplit && endOfDigits(codes, length, end + 1) - end > 4) return true;
    at = Math.max(end, at + 1);
  }
  return false;
}

function endOfDigits(codes: Uint8Array, length: number, from: number): number {
  let end = from;
  while (end < length && isDigit(codes[end])) end++;
  return end;
}
