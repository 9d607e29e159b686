import { ABSENT, accepts, refuses, type FieldRow } from '../../support/field-rows.ts';
import { itHoldsOn, ruleBench } from '../../support/rules.ts';

const TEXT = 'must be a string';
const NO_TEXTS = [null, 1, true, [], {}];
const TOO_LONG = 'must be at most 120 characters long';
const EMPTY = 'must be at least 1 character long';

const ENUMS: Record<string, readonly string[]> = {
  type: ['AUTH', 'CAPTURE', 'PAYMENT', 'CANCEL', 'REFUND', 'CHARGEBACK'],
  status: ['REQUESTED', 'APPROVED', 'DECLINED', 'PENDING', 'CANCELED', 'REVERSED'],
  channel: ['ECOMMERCE', 'APP', 'POS', 'MANUAL', 'SMS'],
};

/** Section 2.2, row by row. Instants, amounts and installments have files of their own. */
const ROWS: FieldRow[] = [
  ...refuses('transaction.source_event_id', `is required and ${TEXT}`, [ABSENT]),
  ...refuses('transaction.source_event_id', TEXT, NO_TEXTS),
  ...refuses('transaction.source_event_id', EMPTY, ['']),
  ...refuses('transaction.source_event_id', TOO_LONG, ['x'.repeat(121), '🛒'.repeat(121)]),
  ...refuses('transaction.source_event_id', 'must equal source_event_id of the envelope', [
    'another',
    'x'.repeat(120),
  ]),

  ...Object.entries(ENUMS).flatMap(([field, values]) => [
    ...accepts(`transaction.${field}`, values, {
      transaction: { original_event_id: 'original' },
    }),
    ...refuses(`transaction.${field}`, `is required and must be one of ${values.join(', ')}`, [
      ABSENT,
    ]),
    ...refuses(`transaction.${field}`, `must be one of ${values.join(', ')}`, [
      null,
      0,
      true,
      '',
      [],
      {},
      [values[0]],
      values[0]?.toLowerCase(),
      ` ${values[0]}`,
      'UNKNOWN',
    ]),
  ]),

  ...accepts('transaction.currency', ['KRW', 'JPY', 'USD', 'XXX', 'QQQ']),
  ...refuses('transaction.currency', `is required and ${TEXT}`, [ABSENT]),
  ...refuses('transaction.currency', TEXT, NO_TEXTS),
  ...refuses('transaction.currency', 'must be three uppercase letters (ISO 4217)', [
    '',
    'KR',
    'KRWW',
    'krw',
    'KrW',
    'KRW\n',
    ' KRW',
    'K1W',
    '410',
    'ＫＲＷ',
    'ÄÖÜ',
  ]),

  ...accepts('transaction.original_event_id', [
    ABSENT,
    'o',
    'o'.repeat(120),
    '🛒'.repeat(120),
    'never heard of',
  ]),
  ...refuses('transaction.original_event_id', TEXT, NO_TEXTS),
  ...refuses('transaction.original_event_id', EMPTY, ['']),
  ...refuses('transaction.original_event_id', TOO_LONG, ['o'.repeat(121), '🛒'.repeat(121)]),

  ...accepts('transaction.tid', [ABSENT, 't', 't'.repeat(120), '결제'.repeat(60)]),
  ...refuses('transaction.tid', TEXT, NO_TEXTS),
  ...refuses('transaction.tid', EMPTY, ['']),
  ...refuses('transaction.tid', TOO_LONG, ['t'.repeat(121), '🛒'.repeat(121)]),

  ...['auth_no_token', 'response_code', 'reason_code', 'business_type'].flatMap((field) => [
    ...accepts(`transaction.${field}`, [ABSENT, '', '00', '가'.repeat(5_000)]),
    ...refuses(`transaction.${field}`, TEXT, NO_TEXTS),
  ]),

  ...accepts('transaction.is_cross_border', [ABSENT, true, false]),
  ...refuses('transaction.is_cross_border', 'must be true or false', [
    null,
    0,
    1,
    '',
    'true',
    'false',
    [],
    {},
  ]),
];

describe('rules of CanonicalTransaction (section 2.2)', () => {
  itHoldsOn(ruleBench(), ROWS);
});
