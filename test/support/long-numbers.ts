import type { Sample } from './benign-corpus.ts';
import { Draw } from './draw.ts';

/*
 * Ids that are as long as card numbers. About one in ten random ones has Luhn's check digit, and some of those begin like
 * a card: these look exactly like one and are refused on purpose. `looksLikeCard` tells which, from the networks' ranges
 * as they are published and from nothing of the scanner.
 */

/** Beginnings of payment cards, from and to, compared digit by digit. */
const BEGINNINGS: readonly (readonly [from: string, to: string])[] = [
  ['4', '4'],
  ['51', '55'],
  ['2200', '2204'],
  ['2221', '2720'],
  ['34', '34'],
  ['37', '37'],
  ['300', '305'],
  ['3095', '3095'],
  ['3528', '3589'],
  ['36', '36'],
  ['38', '39'],
  ['50', '50'],
  ['56', '69'],
  ['81', '82'],
  ['94', '94'],
  ['9792', '9792'],
];

/** Whether a number of 13 to 19 digits, alone or in groups, has a card's beginning and Luhn's check digit. */
export function looksLikeCard(value: unknown): boolean {
  const digits = String(value).replace(/[ -]/g, '');
  if (!/^\d{13,19}$/.test(digits)) return false;
  const begins = BEGINNINGS.some(([from, to]) => {
    const start = digits.slice(0, from.length);
    return start >= from && start <= to;
  });
  return begins && luhnSum(digits) % 10 === 0;
}

function luhnSum(digits: string): number {
  return Array.from(digits)
    .reverse()
    .map((digit, i) => Number(digit) * (i % 2 === 0 ? 1 : 2))
    .reduce((total, value) => total + (value > 9 ? value - 9 : value), 0);
}

const idOf = (d: Draw, length: number): string => d.pad(1, 9, 1) + d.digits(length - 1);

function ean13(d: Draw): string {
  const body = idOf(d, 12);
  const sum = Array.from(body, Number).reduce(
    (t, digit, i) => t + digit * (i % 2 === 0 ? 1 : 3),
    0,
  );
  return body + String((10 - (sum % 10)) % 10);
}

const LONG_NUMBERS: Record<string, (draw: Draw) => unknown> = {
  '16-digit id': (d) => idOf(d, 16),
  '19-digit id': (d) => idOf(d, 19),
  'id of 13, 14, 15, 17 or 18 digits': (d) => idOf(d, d.of([13, 14, 15, 17, 18])),
  'integer of 13 to 15 digits': (d) => Number(idOf(d, d.int(13, 15))),
  'id of 20 to 30 digits': (d) => idOf(d, d.int(20, 30)),
  'barcode (EAN-13) under its name': (d) => ({ [d.of(['ean', 'gtin', 'barcode'])]: ean13(d) }),
  '16-digit id in fours': (d) => [d.digits(4), d.digits(4), d.digits(4), d.digits(4)].join('-'),
  'serial in fives': (d) => Array.from({ length: 5 }, () => d.digits(5)).join('-'),
  'four-part version under its name': (d) => ({
    [d.of(['app_version', 'sdkVersion', 'os_version', 'firmware_version', 'browserVersion'])]:
      `${d.int(0, 30)}.${d.int(0, 99)}.${d.int(0, 255)}.${d.int(0, 255)}`,
  }),
  'order line': (d) => `${idOf(d, 8)} x${d.int(1, 9)} @ ${d.int(1, 99)},${d.digits(3)}`,
};

/** `count` harmless values that are long numbers, the kinds in turn; those that look like a card are among them. */
export function longNumberSamples(seed: number, count: number): Sample[] {
  const draw = new Draw(seed);
  const kinds = Object.entries(LONG_NUMBERS);
  return Array.from({ length: count }, (_, i) => {
    const [kind, make] = kinds[i % kinds.length] as [string, (draw: Draw) => unknown];
    return { kind, value: make(draw) };
  });
}
