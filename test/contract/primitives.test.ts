import { expect } from 'chai';
import {
  AmountMinor,
  codePointLength,
  Currency,
  IdempotencyKey,
  IngestionId,
  ingestionIdOf,
  Instant,
  parseIngestionId,
  parseInstant,
  SourceEventId,
} from '../../contract/primitives.ts';

describe('contract/primitives: instants', () => {
  const accepted: [string, iso: string][] = [
    ['2026-03-01T09:00:00Z', '2026-03-01T09:00:00.000Z'],
    ['2026-03-01T09:00:00+09:00', '2026-03-01T00:00:00.000Z'],
    ['2026-03-01t09:00:00z', '2026-03-01T09:00:00.000Z'],
    ['2026-03-01T09:00:00-00:00', '2026-03-01T09:00:00.000Z'],
    ['2026-03-01T00:00:00+23:59', '2026-02-28T00:01:00.000Z'],
    ['2026-12-31T23:59:59.9-01:00', '2027-01-01T00:59:59.900Z'],
    ['2026-03-01T09:00:00.123456789123Z', '2026-03-01T09:00:00.123Z'],
    ['1969-12-31T23:59:59.9999Z', '1969-12-31T23:59:59.999Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0000-12-31T23:59:59-01:00', '0001-01-01T00:59:59.000Z'],
    ['0099-06-15T12:00:00Z', '0099-06-15T12:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ];
  for (const [text, iso] of accepted) {
    it(`${text} is ${iso}`, () => {
      const instant = parseInstant(text);
      expect(new Date(instant as number).toISOString()).to.equal(iso);
      expect(Instant.safeParse(text).success).to.equal(true);
    });
  }

  const refused = [
    '',
    '2026-03-01',
    '2026-03-01T09:00:00',
    '2026-03-01T09:00Z',
    '2026-03-01 09:00:00Z',
    '2026-03-01T09:00:00+0900',
    '2026-03-01T09:00:00+09',
    '2026-03-01T09:00:00+24:00',
    '2026-03-01T09:00:00+09:60',
    '2026-03-01T09:00:00.Z',
    '2026-03-01T09:00:00,5Z',
    '2026-03-01T24:00:00Z',
    '2026-03-01T23:60:00Z',
    '2016-12-31T23:59:60Z',
    '2026-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '0001-01-01T00:00:00+00:01',
    '0000-06-01T00:00:00Z',
    '9999-12-31T23:59:59-00:01',
    '+2026-03-01T09:00:00Z',
    '12026-03-01T09:00:00Z',
    '2026-3-1T09:00:00Z',
    '2026-03-01T09:00:00Z ',
    ' 2026-03-01T09:00:00Z',
    '2026-03-01T09:00:00ZZ',
    '２026-03-01T09:00:00Z',
    '2026-03-01T-9:00:00Z',
    '1767225600',
  ];
  for (const text of refused) {
    it(`${JSON.stringify(text)} is no instant`, () => {
      expect(parseInstant(text)).to.equal(undefined);
      expect(Instant.safeParse(text).success).to.equal(false);
    });
  }

  it('agrees with Date on every day of four centuries', () => {
    for (let day = -146_097 * 2; day < 146_097; day++) {
      const iso = new Date(day * 86_400_000).toISOString();
      if (parseInstant(iso) !== day * 86_400_000) expect.fail(iso);
    }
  });
});

describe('contract/primitives: ids, money, lengths', () => {
  const schemas = { Currency, AmountMinor, SourceEventId, IdempotencyKey, IngestionId };
  const table: [keyof typeof schemas, good: unknown[], bad: unknown[]][] = [
    ['Currency', ['KRW', 'XXX'], ['krw', 'KR', 'KRWW', 'KRW\n', '₩₩₩', null]],
    ['AmountMinor', [0, 129000, 2 ** 53 - 1], [-1, 1.5, 2 ** 53, '1200', true, null, '']],
    [
      'SourceEventId',
      ['x', 'x'.repeat(120), '😀'.repeat(120)],
      ['', 'x'.repeat(121), '😀'.repeat(121), 1],
    ],
    [
      'IdempotencyKey',
      ['12345678', 'A.z_9:-0', 'k'.repeat(128)],
      ['1234567', 'k'.repeat(129), 'has blank', 'ключключ', '12345678\n'],
    ],
    [
      'IngestionId',
      ['ing_0', 'ing_007', 'ing_18446744073709551616'],
      ['ing_', 'ING_1', 'ing_-1', 'ing_1\n', 'x_1', 'ing_１'],
    ],
  ];
  for (const [name, good, bad] of table) {
    it(`${name} takes what the contract allows and nothing else`, () => {
      const schema = schemas[name];
      for (const value of good)
        expect(schema.safeParse(value).success, String(value)).to.equal(true);
      for (const value of bad)
        expect(schema.safeParse(value).success, String(value)).to.equal(false);
    });
  }

  it('lengths count code points, as JSON Schema and PostgreSQL do', () => {
    expect(codePointLength('a가😀')).to.equal(3);
    expect(codePointLength('😀'.repeat(120))).to.equal(120);
    expect(codePointLength('')).to.equal(0);
  });

  it('an ingestion id survives the way out and back, over all 63 bits', () => {
    for (const id of [0n, 1n, 2n ** 53n + 1n, 2n ** 63n - 1n]) {
      expect(parseIngestionId(ingestionIdOf(id))).to.equal(id);
    }
  });

  it('an id that no row can have is undefined', () => {
    for (const text of [
      'ing_007',
      'ing_9223372036854775808',
      'ing_',
      'ing_1a',
      'ing_-1',
      ' ing_1',
      `ing_${'9'.repeat(400)}`,
    ]) {
      expect(parseIngestionId(text), text).to.equal(undefined);
    }
  });
});
