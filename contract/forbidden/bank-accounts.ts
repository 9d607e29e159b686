import { type FoldedText, isDigit, isLetter, wordBefore } from './folded-text.ts';

/**
 * IBAN length by country; then `n` where the account part is digits throughout, `a` where it begins with four letters.
 * Lengths agree with validator.js (isIBAN.js), which follows the SWIFT registry; a few newer countries are added.
 */
const IBAN_FORMATS = `
AD24 AE23n AL28 AT20n AZ28a BA20n BE16n BG22a BH22a BI27n BR29 BY28 CH21 CR22n CY28 CZ24n DE22n DJ27n DK18n DO28 EE20n
EG29n ES24n FI18n FK18 FO18n FR27 GB22a GE22 GI23a GL18n GR27 GT28 HN28 HR21n HU28n IE22a IL23n IQ23a IS26n IT27 JO30a KW30a
KZ20 LB28 LC32a LI21 LT20n LU20 LV21a LY25n MC27 MD24 ME22n MK19 MN20n MR27n MT31a MU30a NI28a NL18a NO15n OM23 PK24a PL28n
PS29a PT25n QA29a RO24a RS22n RU33 SA24 SC31a SD18n SE24n SI19n SK24n SM27 SO23n ST25n SV28a TL23n TN24n TR26 UA29 VA22n
VG24a XK20n YE30 DZ26n IR26n MA28n MZ25n`;

type IbanFormat = { length: number; digitsOnly: boolean; lettersFirst: boolean };

/** By country, at {@link countryIndex}. */
const FORMATS: (IbanFormat | undefined)[] = Array.from({ length: 26 * 26 }, () => undefined);
for (const format of IBAN_FORMATS.trim().toLowerCase().split(/\s+/)) {
  FORMATS[countryIndex(format.charCodeAt(0), format.charCodeAt(1))] = {
    length: Number(format.slice(2, 4)),
    digitsOnly: format.endsWith('n'),
    lettersFirst: format.endsWith('a'),
  };
}

/** 0..675 for two folded letters. */
function countryIndex(first: number, second: number): number {
  return (first - 0x61) * 26 + second - 0x61;
}

/**
 * Whether a text holds an IBAN: known country, its length, check digits right (ISO 13616, mod 97), written as one word
 * or all in groups of four with single spaces or dashes. Other account numbers have no recognisable form: they are
 * found by the name of their field or by a label before them.
 *
 * Looks at the fourth of two letters and two digits first: what stands there says how far the next beginning can be.
 */
export function hasIban(text: FoldedText): boolean {
  if (text.digits < 10) return false;
  const { codes, length } = text;
  const last = length - 15;
  let at = 0;
  while (at <= last) {
    const fourth = codes[at + 3] as number;
    if (!isDigit(fourth)) {
      at += isLetter(fourth) ? 2 : 4;
    } else if (!isDigit(codes[at + 2])) {
      at++;
    } else {
      const isStart = isLetter(codes[at]) && isLetter(codes[at + 1]);
      if (isStart && beginsWord(codes, at) && isIbanAt(codes, length, at)) return true;
      at += 4;
    }
  }
  return false;
}

function beginsWord(codes: Uint8Array, at: number): boolean {
  const before = codes[at - 1];
  return !(isLetter(before) || isDigit(before)) || wordBefore(codes, at, 5) === 'iban';
}

/** Values (0..35) of the IBAN being read; reused between calls. */
const values = new Uint8Array(34);

function isIbanAt(codes: Uint8Array, length: number, start: number): boolean {
  const format = FORMATS[countryIndex(codes[start] as number, codes[start + 1] as number)];
  if (format === undefined) return false;
  const fourth = codes[start + 4];
  const separator = fourth === 0x20 || fourth === 0x2d ? fourth : undefined;
  let at = start;
  for (let count = 0; count < format.length; count++, at++) {
    if (separator !== undefined && count > 0 && count % 4 === 0 && codes[at++] !== separator)
      return false;
    const code = at < length ? (codes[at] as number) : 0;
    if (isDigit(code)) values[count] = code - 0x30;
    else if (isLetter(code) && (count < 2 || !format.digitsOnly)) values[count] = code - 0x57;
    else return false;
  }
  const endsWord = at >= length || !(isLetter(codes[at]) || isDigit(codes[at]));
  return (
    endsWord && (!format.lettersFirst || beginsWithLetters()) && remainder97(format.length) === 1
  );
}

function beginsWithLetters(): boolean {
  return values.subarray(4, 8).every((value) => value > 9);
}

/** The whole number modulo 97, country and check digits moved to its end; divided only before it outgrows 32 bits. */
function remainder97(length: number): number {
  let rest = 0;
  for (let i = 4; i < length + 4; i++) {
    const value = values[i < length ? i : i - length] as number;
    rest = rest * (value > 9 ? 100 : 10) + value;
    if (rest > 10_000_000) rest %= 97;
  }
  return rest % 97;
}
