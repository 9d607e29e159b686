import { BASE62, Draw, WORDS } from './draw.ts';

/** One labelled value; `value` is what a caller would put into a free-form object. */
export type Sample = { kind: string; value: unknown };

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
