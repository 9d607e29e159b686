import { BASE62, Draw } from './draw.ts';
import { addOddKeys, nested, oddValue, RAW, setOwn } from './garbage-values.ts';
import type { RawRequest } from './raw-http.ts';

/** An event that the contract accepts, with free-form parts that it says nothing about. */
export function goodEvent(draw: Draw): Record<string, unknown> {
  const id = `g-${draw.chars(BASE62, 16)}`;
  const event: Record<string, unknown> = {
    schema_version: '1.0',
    source_event_id: id,
    occurred_at: draw.of([
      '2026-03-01T09:00:00+09:00',
      '2024-02-29T23:59:59.5Z',
      '0001-01-01T00:00:00Z',
    ]),
    sent_at: '2026-03-01T09:00:01+09:00',
    source_system: draw.of(['shop', '상점', ' ', 's'.repeat(400)]),
    event_type: draw.of(['PAYMENT_AUTH', 'PAYMENT_REFUND', 'PROFILE_UPSERT']),
    transaction: {
      source_event_id: id,
      original_event_id: draw.of(['o', id, `g-${draw.chars(BASE62, 16)}`]),
      type: draw.of(['AUTH', 'PAYMENT', 'REFUND']),
      status: draw.of(['REQUESTED', 'APPROVED', 'DECLINED', 'PENDING']),
      occurred_at: draw.of([
        '2026-03-01T09:00:00+09:00',
        '9999-12-31T23:59:59Z',
        '0001-01-01T00:00:00Z',
      ]),
      amount_minor: draw.of([0, 1, draw.int(0, 1_000_000), Number.MAX_SAFE_INTEGER]),
      currency: draw.of(['KRW', 'USD', 'QQQ']),
      channel: draw.of(['ECOMMERCE', 'SMS']),
      installment_months: draw.int(0, 60),
    },
  };
  const odd = (): unknown => {
    const shy = [
      null,
      true,
      0,
      -1.5,
      1e15,
      '',
      '🛒',
      '\u202e',
      'x'.repeat(200),
      [],
      {},
      [{ a: null }],
    ];
    return draw.of<unknown>([...shy, `v${draw.int(0, 50)}`, draw.int(0, 9)]);
  };
  const parts: Record<string, readonly string[]> = {
    customer: ['customer_id', 'account_age_days', 'constructor'],
    device: ['device_id', 'os'],
    network: ['ip_prefix', 'country'],
    order: ['shipping_country', 'items', 'toString'],
    session: ['x'],
  };
  for (const [part, keys] of Object.entries(parts)) {
    if (draw.random() < 0.5) event[part] = Object.fromEntries(keys.map((key) => [key, odd()]));
  }
  if (draw.random() < 0.5) {
    const known = { bin: odd(), last4: odd(), issuer_country: odd() };
    event['payment_method'] = { type: 'CARD', token: `tok_${draw.int(0, 50)}`, ...known };
  }
  return event;
}

/** Every object inside a value, itself included; nothing at the bottom of deep ones. */
function objectsIn(value: unknown, depth = 0): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null || depth > 12) return [];
  const inner = Object.values(value).flatMap((each) => objectsIn(each, depth + 1));
  return Array.isArray(value) ? inner : [value as Record<string, unknown>, ...inner];
}

function mutateValue(draw: Draw, event: Record<string, unknown>): void {
  const object = draw.of(objectsIn(event));
  const keys = Object.keys(object);
  const key = keys.length === 0 ? 'x' : draw.of(keys);
  const value = object[key];
  switch (draw.int(0, 7)) {
    case 0:
    case 1:
    case 2:
      setOwn(object, key, oddValue(draw));
      break;
    case 3:
      delete object[key];
      break;
    case 4:
      addOddKeys(draw, object, draw.int(1, 3));
      break;
    case 5:
      delete object[key];
      setOwn(object, draw.of([key.toUpperCase(), ` ${key}`, `${key}\u200b`, `${key}s`]), value);
      break;
    case 6:
      setOwn(object, key, draw.of<unknown>([[value], { value }, JSON.stringify(value)]));
      break;
    default:
      if (draw.random() < 0.05) {
        for (let i = 0, count = draw.int(3_000, 6_000); i < count; i++) setOwn(object, `k${i}`, i);
      } else setOwn(object, key, nested(draw.int(25, 40), '{'));
  }
}

function mutateText(draw: Draw, text: string): Buffer {
  const at = draw.int(0, text.length);
  const bytes = Buffer.from(text);
  switch (draw.int(0, 9)) {
    case 0:
      return bytes.subarray(0, draw.int(0, bytes.length));
    case 1:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]);
    case 2:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from(draw.of(['ff', 'c0af', 'eda080', '00', '80']), 'hex'),
        bytes.subarray(at),
      ]);
    case 3:
      bytes[draw.int(0, bytes.length - 1)] = draw.int(0, 255);
      return bytes;
    case 4:
      return Buffer.from(text + draw.of(['}', 'x', text, '\0', ',']));
    case 5:
      return Buffer.from(
        text.slice(0, at) +
          draw.of(['"', '\\', '{', '[', '\n', '\\u12', 'NaN', '/**/']) +
          text.slice(at),
      );
    case 6:
      return Buffer.from(text, draw.of(['utf16le', 'latin1'] as const));
    case 7:
      return Buffer.from(text.replace('{', `{"source_event_id":"twice",`));
    case 8:
      return Buffer.from(
        draw.of([
          '',
          '[]',
          'null',
          '"x"',
          '1',
          '[',
          '{',
          '[['.repeat(50_000),
          '{"a":'.repeat(30_000),
        ]),
      );
    default:
      if (draw.random() < 0.1) return Buffer.alloc(draw.int(262_000, 600_000), 0x20);
      return Buffer.from(draw.chars(BASE62, draw.int(1, 2_000)));
  }
}

const PATH_IDS = [
  '',
  'x',
  'ing_1',
  'ing_',
  'ing_99999999999999999999',
  '%00',
  '%',
  '%ff',
  '%ED%A0%80',
  '..',
  '%2e%2e',

  '%F0%9F%9B%92',
  'x'.repeat(121),
  'x'.repeat(5_000),
  '__proto__',
  'constructor',
  '%0d%0a',
  "'--",
  '%2F',
];
const ODD_KEYS = [
  '',
  'short',
  'x'.repeat(129),
  'with blank',
  'caf\u00e9-key',
  'tab\tkey-1',
  '../../../..',
  '$'.repeat(9),
];
const ODD_TYPES = [
  'text/plain',
  '',
  'application/json; charset=utf-16',
  'application/x-www-form-urlencoded',
  '\u00ff',
];

/**
 * Request number `index` of a seed: always the same. Mostly an event that was good before up to four changes to its
 * structure or its text; sometimes with headers, a path or a method that were changed too.
 */
export function garbageRequest(seed: number, index: number, apiKey: string): RawRequest {
  const draw = new Draw(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
  const headers = ['x-api-key', draw.random() < 0.005 ? draw.of(['', 'x', `${apiKey}x`]) : apiKey];
  if (draw.random() < 0.01) headers.push(...headers.slice(0, 2));
  const key =
    draw.random() < 0.06
      ? draw.of(ODD_KEYS)
      : draw.of([`k-${seed}-${index}`, `shared-key-${draw.int(0, 200)}`]);
  if (draw.random() > 0.02) headers.push('idempotency-key', key);
  if (draw.random() < 0.01) headers.push('Idempotency-Key', `${key}2`);
  const type = draw.random() < 0.03 ? draw.of(ODD_TYPES) : 'application/json';
  if (draw.random() > 0.01) headers.push('content-type', type);
  if (draw.random() < 0.01) headers.push('Content-Type', draw.of(ODD_TYPES));
  if (draw.random() < 0.01) headers.push('content-encoding', draw.of(['gzip', 'identity', 'x']));
  if (draw.random() < 0.01)
    headers.push('x-forwarded-for', draw.of(['x', '::1', ',,,', 'y'.repeat(900)]));
  if (draw.random() < 0.01) headers.push('x-request-id', draw.of(['x', 'x'.repeat(2_000)]));

  const id = draw.of(PATH_IDS);
  const operation = draw.random();
  if (operation < 0.12) {
    const path = draw.of([
      `/v1/ingestions/${id}`,
      `/v1/transactions/${id}/risk`,
      '/v1/usage',
      `/v1/${id}`,
      `/v2/${id}`,
    ]);
    const method =
      draw.random() < 0.9 ? 'GET' : draw.of(['HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);
    return { method, path: path + draw.of(['', '', '?', '?__proto__[a]=%ff&&==']), headers };
  }
  const isLabel = operation < 0.25;
  const event = isLabel ? { outcome_label: 'FALSE_POSITIVE' } : goodEvent(draw);
  for (let i = 0, count = draw.int(0, 3); i < count; i++) mutateValue(draw, event);
  const text = JSON.stringify(event).replaceAll(RAW, '$1');
  return {
    method: 'POST',
    path: isLabel ? `/v1/transactions/${id}/outcomes` : '/v1/transactions',
    headers,
    body: draw.random() < 0.2 ? mutateText(draw, text) : text,
  };
}
