import { ABSENT, accepts, refuses, type FieldRow } from '../../support/field-rows.ts';
import { itHoldsOn, ruleBench } from '../../support/rules.ts';

const REFUSAL = 'must be an ISO 8601 date-time with an offset, such as 2026-03-01T09:00:00+09:00';
const REQUIRED = ['occurred_at', 'sent_at', 'transaction.occurred_at'];
const FIELDS = [...REQUIRED, 'transaction.requested_at'];

const GOOD = [
  '2026-03-01T09:00:00Z',
  '2026-03-01T09:00:00+09:00',
  '2026-03-01T09:00:00-12:00',
  '2026-03-01T09:00:00+14:00',
  '2026-03-01T09:00:00+23:59',
  '2026-03-01T09:00:00-00:00',
  '2026-03-01t09:00:00z',
  // Fractions of any length.
  '2026-03-01T09:00:00.1Z',
  '2026-03-01T09:00:00.123456789+09:00',
  `2026-03-01T09:00:00.${'9'.repeat(1_000)}Z`,
  // Leap days: every fourth year, not every hundredth, but every four hundredth.
  '2024-02-29T00:00:00Z',
  '2000-02-29T23:59:59.999Z',
  // The first and the last instant, also through their offsets.
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999Z',
  '0000-12-31T23:00:00-01:00',
];

const BAD = [
  '',
  ' ',
  'now',
  '1767225600',
  // No offset, half an offset, one that cannot be.
  '2026-03-01T09:00:00',
  '2026-03-01T09:00:00.000',
  '2026-03-01T09:00:00+09',
  '2026-03-01T09:00:00+0900',
  '2026-03-01T09:00:00+9:00',
  '2026-03-01T09:00:00+24:00',
  '2026-03-01T09:00:00+09:60',
  '2026-03-01T09:00:00+09:00Z',
  '2026-03-01T09:00:00 KST',
  '2026-03-01T09:00:00−09:00',
  // Other forms of ISO 8601 than date-time, and other writings.
  '2026-03-01',
  '2026-03-01T09:00Z',
  '20260301T090000Z',
  '2026-W09-7T09:00:00Z',
  '2026-060T09:00:00Z',
  '2026-03-01 09:00:00Z',
  '2026-3-1T9:00:00Z',
  '2026-03-01T09:00:00,5Z',
  '2026-03-01T09:00:00.Z',
  '+002026-03-01T09:00:00Z',
  'Sun, 01 Mar 2026 09:00:00 GMT',
  ' 2026-03-01T09:00:00Z',
  '2026-03-01T09:00:00Z\n',
  '２０２６-03-01T09:00:00Z',
  // Days and times that do not exist.
  '2026-02-29T00:00:00Z',
  '1900-02-29T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-00-01T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-01-00T00:00:00Z',
  '2026-01-32T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T23:60:00Z',
  '2026-12-31T23:59:60Z',
  '2026-01-01T-1:00:00Z',
  // Beyond the years 0001..9999 in UTC.
  '0000-12-31T23:59:59Z',
  '0001-01-01T00:00:00+00:01',
  '9999-12-31T23:59:59-00:01',
  '10000-01-01T00:00:00Z',
  '-0001-01-01T00:00:00Z',
];

/** ISO 8601 date-time with an offset, for every field that is one. */
const ROWS: FieldRow[] = [
  ...FIELDS.flatMap((field) => [
    ...refuses(field, 'must be a string', [null, 1767225600, 1767225600000, true, [], {}]),
    ...accepts(field, GOOD.slice(0, 2)),
    ...refuses(field, REFUSAL, ['', '2026-03-01T09:00:00', '2026-02-29T00:00:00Z']),
  ]),
  ...REQUIRED.flatMap((field) => refuses(field, 'is required and must be a string', [ABSENT])),
  ...accepts('transaction.requested_at', [ABSENT]),
  // They are one type, so one field gets the whole list.
  ...accepts('transaction.occurred_at', GOOD),
  ...refuses('transaction.occurred_at', REFUSAL, BAD),
];

describe('rules of instants', () => {
  itHoldsOn(ruleBench(), ROWS);
});
