import { BASE62, type Draw, WORDS } from './draw.ts';

/** Stands in a value for a number that JavaScript could not hold: the text between is written without quotes. */
export const RAW = /"@raw:([^@]*)@"/g;
const raw = (text: string): string => `@raw:${text}@`;

const INSTANTS = [
  '2026-03-01T09:00:00Z',
  '2026-02-29T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '0001-01-01T00:00:00+23:59',
  '9999-12-31T23:59:59.999999999Z',
  '9999-12-31T23:59:59-23:59',
  '0000-00-00T00:00:00Z',
  '-271821-04-20T00:00:00Z',
  '+275760-09-13T00:00:00.000Z',
  '2026-03-01T09:00:00+99:99',
  '2026-03-01T24:00:00Z',
  '2026-12-31T23:59:60Z',
  '1e3',
];
const NUMBERS = [
  '0',
  '-0',
  '-1',
  '1.0',
  '1e3',
  '0.1',
  '61',
  '1e-400',
  '1e308',
  '1e309',
  '-1e999',
  '9007199254740991',
  '9007199254740992',
  '123456789012345678901234567890',
  '1E+2',
  '5e-324',
];
const TEXTS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  '\udc00\ud800',
  '🛒',
  '\uffff',
  '\u202e',
  '\u2028',
  '\b\f',
  'null',
  'true',
  '1',
  '{}',
  '__proto__',
  'constructor',
  'toString',
  '../../etc',
  '%00',
  '$1',
  "'; drop table ingestion; --",
  '${7*7}',
  '<script>',
  '\\u0000',
  'é',
  'e\u0301',
  'İ',
  'ﬀ',
];
const KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'then',

  'toJSON',
  '',
  ' ',
  '0',
  '-1',
  'length',
  'a.b',
  'a\0b',
  '\ud800',
  '🛒',
  '\u0130',
  'x'.repeat(300),

  'customer_id',
  'device_id',
  'ip_prefix',
  'country',
  'bin',
  'last4',
  'account_age_days',
  'items',
];

/** One value that a field was not made for, of any type and size. */
export function oddValue(draw: Draw, depth = 0): unknown {
  const kinds = [
    'text',
    'text',
    'number',
    'number',
    'instant',
    'plain',
    'long',
    'array',
    'object',
    'deep',
  ];
  switch (draw.of(kinds)) {
    case 'text':
      return draw.of(TEXTS);
    case 'number':
      return raw(draw.of(NUMBERS));
    case 'instant':
      return draw.of(INSTANTS);
    case 'plain':
      return draw.of([null, true, false, 0, 1, -7, 'KRW', 'AUTH', '1.0', draw.of(WORDS)]);
    case 'long':
      return draw
        .of(['x', '9', '가', '🛒', '\\', '"'])
        .repeat(draw.int(1, draw.of([10, 130, 3_000])));
    case 'array':
      return depth > 3
        ? []
        : Array.from({ length: draw.int(0, 4) }, () => oddValue(draw, depth + 1));
    case 'object':
      return depth > 3 ? {} : addOddKeys(draw, {}, draw.int(0, 4), depth + 1);
    default:
      return nested(draw.int(1, draw.of([20, 40, 2_000])), draw.of(['[', '{']));
  }
}

/** Arrays or objects within each other. */
export function nested(levels: number, kind: string): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = kind === '[' ? [value] : { a: value };
  return value;
}

/** Own properties also for `__proto__`. */
export function setOwn(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

/** Adds own properties with odd names and odd values. */
export function addOddKeys(draw: Draw, object: object, count: number, depth = 0): object {
  for (let i = 0; i < count; i++) {
    const key = draw.random() < 0.7 ? draw.of(KEYS) : draw.chars(BASE62, draw.int(1, 12));
    setOwn(object, key, oddValue(draw, depth));
  }
  return object;
}
