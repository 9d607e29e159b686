import { benignSamples, type Sample } from './benign-corpus.ts';
import { BASE62, Draw, WORDS } from './draw.ts';

export { benignSamples, type Sample };

/*
 * Values for judging the forbidden-data scan: forbidden ones in many dresses here, harmless ones in `benign-corpus.ts`.
 * Everything follows from the seed. The generators know nothing of the scanner: their own card numbers, their own IBANs.
 */

/** Beginnings and lengths of payment cards, and how each is printed. */
const CARDS: readonly (readonly [prefixes: readonly string[], groups: readonly number[]])[] = [
  [['4'], [4, 4, 4, 4]],
  [['4'], [4, 4, 5]],
  [['4'], [4, 4, 4, 4, 3]],
  [
    ['51', '52', '53', '54', '55', '2221', '2450', '2720'],
    [4, 4, 4, 4],
  ],
  [
    ['34', '37'],
    [4, 6, 5],
  ],
  [
    ['6011', '644', '649', '65'],
    [4, 4, 4, 4],
  ],
  [
    ['300', '305', '36', '38', '39'],
    [4, 6, 4],
  ],
  [
    ['3528', '3566', '3589'],
    [4, 4, 4, 4],
  ],
  [['62'], [4, 4, 4, 4]],
  [['62'], [6, 13]],
  [
    ['5018', '5020', '6304', '6759', '6763'],
    [4, 4, 4, 4],
  ],
  [
    ['2200', '2204'],
    [4, 4, 4, 4],
  ],
];

function luhnDigit(body: string): string {
  const sum = Array.from(body)
    .reverse()
    .reduce((total, digit, i) => {
      const value = i % 2 === 0 ? Number(digit) * 2 : Number(digit);
      return total + (value > 9 ? value - 9 : value);
    }, 0);
  return String((10 - (sum % 10)) % 10);
}

/** A random card number, ungrouped, and the group sizes it is printed in. */
export function cardNumber(draw: Draw): { digits: string; groups: readonly number[] } {
  const [prefixes, groups] = draw.of(CARDS);
  const prefix = draw.of(prefixes);
  const length = groups.reduce((total, size) => total + size, 0);
  const body = prefix + draw.digits(length - prefix.length - 1);
  return { digits: body + luhnDigit(body), groups };
}

function grouped(draw: Draw, separator: string): string {
  const { digits, groups } = cardNumber(draw);
  let at = 0;
  return groups.map((size) => digits.slice(at, (at += size))).join(separator);
}

function fullWidth(text: string): string {
  return text.replace(/[!-~]/g, (char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0));
}

function iban(draw: Draw): string {
  const [country, length] = draw.of([
    ['DE', 22],
    ['FR', 27],
    ['GB', 22],
    ['NL', 18],
    ['ES', 24],
    ['NO', 15],
    ['AE', 23],
  ] as const);
  const bank =
    country === 'GB' || country === 'NL' ? draw.chars('ABCDEFGHIJKLMNOPQRSTUVWXYZ', 4) : '';
  const account = bank + draw.digits(length - 4 - bank.length);
  const number = Array.from(`${account}${country}00`, (char) => parseInt(char, 36)).join('');
  const check = 98n - (BigInt(number) % 97n);
  return `${country}${String(check).padStart(2, '0')}${account}`;
}

function ipv4(draw: Draw): string {
  return `${draw.int(1, 223)}.${draw.int(0, 255)}.${draw.int(0, 255)}.${draw.int(1, 254)}`;
}

function ipv6(draw: Draw): string {
  const group = () => draw.int(1, 0xffff).toString(16);
  return draw.of([
    Array.from({ length: 8 }, () => draw.int(0x1000, 0xffff).toString(16)).join(':'),
    `2001:db8::${group()}`,
    `fe80::${group()}:${group()}:1`,
    `::ffff:${ipv4(draw)}`,
    `2400:${group()}:1:${group()}::${group()}`.toUpperCase(),
  ]);
}

const FORBIDDEN_NAMES: Record<string, readonly string[]> = {
  'security code name': [
    'cvc',
    'CVV',
    'cvv2',
    'card_cvc',
    'securityCode',
    'SECURITY_CODE',
    'cardVerificationValue',
    'CVC번호',
    '보안코드',
  ],
  'password name': [
    'password',
    'userPassword',
    'PASSWD',
    'login-pwd',
    'new_password',
    '비밀번호',
    '카드비밀번호',
    'Password1',
  ],
  'account name': [
    'account_number',
    'accountNo',
    'bankAccountNumber',
    'ACCT_NO',
    'refund account number',
    '계좌번호',
    '환불계좌번호',
  ],
  'card name': [
    'card_number',
    'cardNumber',
    'CardNo',
    'PAN',
    'buyer_card_num',
    'Card Number',
    '카드번호',
    '카드 번호',
    '신용카드번호',
  ],
};

/** The forbidden dresses; each makes one value. */
const FORBIDDEN: Record<string, (draw: Draw) => unknown> = {
  'card, plain': (d) => cardNumber(d).digits,
  'card, as a number': (d) => {
    const { digits } = cardNumber(d);
    return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits;
  },
  'card, spaces': (d) => grouped(d, ' '),
  'card, dashes': (d) => grouped(d, '-'),
  'card, unusual spaces and dashes': (d) =>
    grouped(d, d.of(['\u00a0', '\u2009', '\u3000', '\u2011', '\u2013', '\u200b'])),
  'card, full width': (d) => fullWidth(d.of([cardNumber(d).digits, grouped(d, '-')])),
  'card, in text': (d) => `${d.of(WORDS)} ${grouped(d, d.of(['', ' ', '-']))} ${d.of(WORDS)}`,
  'card, beside letters': (d) =>
    d.of([
      `카드${cardNumber(d).digits}번`,
      `pan=${cardNumber(d).digits};`,
      `"${cardNumber(d).digits}"`,
      `card:${cardNumber(d).digits},`,
    ]),
  'card, before its expiry': (d) => `${grouped(d, ' ')} ${d.pad(1, 12, 2)}/${d.pad(26, 35, 2)}`,
  'card, in a key': (d) => ({ [cardNumber(d).digits]: true }),
  'card, deep': (d) => ({ a: [{ b: { c: [cardNumber(d).digits] } }] }),
  'track 1': (d) => `%B${cardNumber(d).digits}^KIM/MINSU^30121010000000000000?`,
  'track 2': (d) => `;${cardNumber(d).digits}=30121010000012345678?`,
  iban: (d) =>
    d.of([
      (text: string) => text,
      (text: string) => text.toLowerCase(),
      (text: string) => text.replace(/(.{4})(?=.)/g, '$1 '),
    ])(iban(d)),
  'iban, in text': (d) => `pay to ${iban(d)}, please`,
  'ipv4, plain': (d) => ipv4(d),
  'ipv4, in text': (d) =>
    d.of([
      `login from ${ipv4(d)}.`,
      `http://${ipv4(d)}/path`,
      `${ipv4(d)}:8080`,
      `${ipv4(d)}, ${ipv4(d)}`,
      `접속 ${ipv4(d)}에서`,
    ]),
  'ipv4, with a mask': (d) => `${ipv4(d)}/${d.int(24, 32)}`,
  'ipv4, full width': (d) => fullWidth(ipv4(d)),
  'ipv6, plain': (d) => ipv6(d),
  'ipv6, in text': (d) => d.of([`[${ipv6(d)}]:443`, `from ${ipv6(d)} again`, `ip=${ipv6(d)};`]),
  'labelled in text': (d) =>
    d.of([
      `cvc ${d.digits(3)}`,
      `CVV: ${d.digits(3)}`,
      `password=${d.chars(BASE62, 9)}`,
      `계좌번호 110-${d.digits(3)}-${d.digits(6)}`,
    ]),
  'nested name': (d) =>
    d.of<unknown>([
      { card: { number: `x${d.digits(5)}` } },
      { account: { number: d.digits(9) } },
      { account: `110-${d.digits(3)}-${d.digits(6)}` },
      { cvc: { value: d.digits(3) } },
    ]),
};
for (const [kind, names] of Object.entries(FORBIDDEN_NAMES)) {
  FORBIDDEN[kind] = (d) => ({
    [d.of(names)]: d.of<unknown>([d.digits(3), Number(d.digits(4)), d.chars(BASE62, 8)]),
  });
}

/** `count` forbidden values, the dresses in turn. */
export function forbiddenSamples(seed: number, count: number): Sample[] {
  const draw = new Draw(seed);
  const kinds = Object.entries(FORBIDDEN);
  return Array.from({ length: count }, (_, i) => {
    const [kind, make] = kinds[i % kinds.length] as [string, (draw: Draw) => unknown];
    return { kind, value: make(draw) };
  });
}
