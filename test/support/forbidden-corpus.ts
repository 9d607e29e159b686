/**
 * Values for judging the forbidden-data scan: harmless ones in twenty kinds, forbidden ones in many dresses.
 * Everything follows from the seed. The generator knows nothing of the scanner: its own card numbers, its own IBANs.
 */

/** One labelled value; `value` is what a caller would put into a free-form object. */
export type Sample = { kind: string; value: unknown };

/** Random source in [0, 1): mulberry32, small and good enough for test data. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Small draws from a random source. */
class Draw {
  readonly random: () => number;

  constructor(seed: number) {
    this.random = randomOf(seed);
  }

  /** Integer in [from, to]. */
  int(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from + 1));
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.int(0, choices.length - 1)] as T;
  }

  chars(alphabet: string, length: number): string {
    return Array.from({ length }, () => alphabet[this.int(0, alphabet.length - 1)]).join('');
  }

  digits(length: number): string {
    return this.chars('0123456789', length);
  }

  hex(length: number): string {
    return this.chars('0123456789abcdef', length);
  }

  pad(from: number, to: number, width: number): string {
    return String(this.int(from, to)).padStart(width, '0');
  }
}

const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const WORDS =
  `무선 이어폰 배송 요청 문 앞에 두세요 red shoes size gift wrap please leave at door thank you customer order
  refund asked twice phone call invoice sent by mail`.split(/\s+/);

/** The harmless kinds; each makes one value. */
const BENIGN: Record<string, (draw: Draw) => unknown> = {
  uuid: (d) =>
    `${d.hex(8)}-${d.hex(4)}-4${d.hex(3)}-${d.of(['8', '9', 'a', 'b'])}${d.hex(3)}-${d.hex(12)}`,
  'hex hash': (d) => d.hex(d.of([16, 24, 32, 40, 64, 128])),
  'base62 token': (d) => `tok_${d.chars(BASE62, d.int(16, 48))}`,
  'epoch seconds': (d) => d.of([String, Number])(d.int(1_600_000_000, 1_900_000_000)),
  'epoch milliseconds': (d) => d.of([String, Number])(d.int(1_600_000_000_000, 1_900_000_000_000)),
  'epoch microseconds': (d) =>
    d.of([String, Number])(d.int(1_600_000_000_000_000, 1_900_000_000_000_000)),
  'epoch nanoseconds': (d) => `${d.int(1_600_000_000, 1_900_000_000)}${d.digits(9)}`,
  instant: (d) =>
    `20${d.pad(20, 30, 2)}-${d.pad(1, 12, 2)}-${d.pad(1, 28, 2)}T${d.pad(0, 23, 2)}:${d.pad(0, 59, 2)}:${d.pad(0, 59, 2)}` +
    d.of(['Z', '+09:00', `.${d.digits(3)}Z`, `.${d.digits(6)}+09:00`]),
  'compact date and number': (d) =>
    `${d.of(['', 'ORD', 'ORD-', 'T'])}20${d.pad(20, 30, 2)}${d.pad(1, 12, 2)}${d.pad(1, 28, 2)}${d.of(['', '-'])}${d.digits(d.int(4, 9))}`,
  'clock and duration': (d) =>
    `${d.pad(0, 23, 2)}:${d.pad(0, 59, 2)}:${d.pad(0, 59, 2)}${d.of(['', `.${d.digits(3)}`, `:${d.digits(2)}`])}`,
  decimal: (d) => d.of([String, Number])(d.random() * d.of([1, 100, 1e6])),
  'long fraction': (d) => `${d.int(0, 180)}.${d.digits(d.int(13, 19))}`,
  amount: (d) =>
    d.of([d.int(0, 1e12 - 1), `${d.int(1, 999)},${d.digits(3)},${d.digits(3)}.${d.digits(2)}`]),
  'domestic phone': (d) =>
    d.of([
      `010-${d.digits(4)}-${d.digits(4)}`,
      `02-${d.digits(3)}-${d.digits(4)}`,
      `010${d.digits(8)}`,
      `1588-${d.digits(4)}`,
    ]),
  'international phone': (d) =>
    d.of([
      `+82 10-${d.digits(4)}-${d.digits(4)}`,
      `+49151${d.digits(8)}`,
      `+1 (415) ${d.digits(3)}-${d.digits(4)}`,
      `+44 7911 ${d.digits(6)}`,
    ]),
  'user agent': (d) =>
    `Mozilla/5.0 (${d.of(['Windows NT 10.0; Win64; x64', 'Linux; Android 14; SM-S918N', 'X11; Linux x86_64'])}) AppleWebKit/537.36 (KHTML, like Gecko) ` +
    `${d.of(['Chrome', 'Edg', 'OPR', 'SamsungBrowser'])}/${d.int(80, 140)}.${d.int(0, 9)}.${d.int(0, 255)}.${d.int(0, 255)} Safari/537.36`,
  version: (d) => {
    const quad = `${d.int(0, 30)}.${d.int(0, 99)}.${d.int(0, 255)}.${d.int(0, 255)}`;
    return d.of<unknown>([
      `v${quad}`,
      { app_version: quad },
      `version ${quad}`,
      `${quad}-beta`,
      `${quad}.${d.int(0, 9)}`,
      `${d.int(0, 30)}.${d.int(0, 99)}.${d.int(0, 999)}`,
    ]);
  },
  'mac address': (d) => Array.from({ length: d.of([6, 8]) }, () => d.hex(2)).join(d.of([':', '-'])),
  'ip prefix': (d) =>
    d.of([
      `${d.int(1, 223)}.${d.int(0, 255)}.${d.int(0, 255)}.0/24`,
      `${d.int(1, 223)}.${d.int(0, 255)}.0.0/16`,
      `2001:${d.hex(3)}1:${d.hex(3)}1:${d.hex(3)}1::/64`,
      `2001:${d.hex(3)}1::/32`,
    ]),
  sentence: (d) =>
    Array.from({ length: d.int(3, 14) }, () => d.of([...WORDS, d.digits(d.int(1, 6))])).join(' '),
  'bin and last four': (d) => ({
    bin: d.digits(d.of([6, 8])),
    last4: d.digits(4),
    card_number_last4: d.digits(4),
  }),
  'derived field': (d) => ({
    [d.of([
      'has_password',
      'pan_token',
      'card_number_hash',
      'cvv_result',
      'account_id',
      'accountNumberMasked',
      'ip_country',
      'password_changed_at',
      'shipAddress',
    ])]: d.of<unknown>([true, 'M', d.hex(32), `id-${d.digits(6)}`, d.int(1, 4000)]),
  }),
};

/** `count` harmless values, the kinds in turn. */
export function benignSamples(seed: number, count: number): Sample[] {
  const draw = new Draw(seed);
  const kinds = Object.entries(BENIGN);
  return Array.from({ length: count }, (_, i) => {
    const [kind, make] = kinds[i % kinds.length] as [string, (draw: Draw) => unknown];
    return { kind, value: make(draw) };
  });
}

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
  const sum = [...body].reverse().reduce((total, digit, i) => {
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
  const number = [...`${account}${country}00`].map((char) => parseInt(char, 36)).join('');
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
    [d.of(names)]: d.of<unknown>([d.digits(3), Number(d.digits(4)), `${d.chars(BASE62, 8)}`]),
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
