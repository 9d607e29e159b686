import { ABSENT, accepts, refuses, type FieldRow } from '../../support/field-rows.ts';
import { itHoldsOn, ruleBench } from '../../support/rules.ts';

const FREE_FORM = ['order', 'customer', 'device', 'session', 'network', 'velocity'];
const EVENT_TYPES = [
  'PROFILE_UPSERT',
  'PAYMENT_AUTH',
  'PAYMENT_CAPTURE',
  'PAYMENT_CANCEL',
  'PAYMENT_REFUND',
  'PAYMENT_CHARGEBACK',
];
const TEXT = 'must be a string';
const NO_TEXTS = [null, 1, true, [], {}];
const OBJECT = 'must be an object';
const NO_OBJECTS = [null, 'x', 1, true, []];

/** Section 2.1, row by row. Instants have a file of their own. */
const ROWS: FieldRow[] = [
  ...refuses('', 'must be an object', [null, 'x', 1, true, [], [{}]]),

  ...refuses('schema_version', 'is required and must be "1.0"', [ABSENT]),
  ...refuses('schema_version', 'must be "1.0"', [null, 1, 1.5, '1', '1.1', '1.0 ', '', [], {}]),

  { at: 'source_event_id', value: ABSENT, refused: `is required and ${TEXT}` },
  ...refuses('source_event_id', TEXT, NO_TEXTS),

  ...refuses('source_system', `is required and ${TEXT}`, [ABSENT]),
  ...refuses('source_system', TEXT, NO_TEXTS),
  ...refuses('source_system', 'must be at least 1 character long', ['']),
  ...accepts('source_system', ['s', ' ', '상점', 's'.repeat(5_000)]),

  ...refuses('event_type', `is required and must be one of ${EVENT_TYPES.join(', ')}`, [ABSENT]),
  ...refuses('event_type', `must be one of ${EVENT_TYPES.join(', ')}`, [
    null,
    1,
    '',
    'AUTH',
    'payment_auth',
    'PAYMENT_AUTH ',
    [],
    ['PAYMENT_AUTH'],
    {},
    true,
  ]),
  ...EVENT_TYPES.flatMap((type) =>
    accepts('event_type', [type], { transaction: { original_event_id: 'original' } }),
  ),

  ...accepts('merchant_external_id', [
    ABSENT,
    'm',
    'm'.repeat(100),
    '가'.repeat(100),
    '🛒'.repeat(100),
  ]),
  ...refuses('merchant_external_id', TEXT, NO_TEXTS),
  ...refuses('merchant_external_id', 'must be at least 1 character long', ['']),
  ...refuses('merchant_external_id', 'must be at most 100 characters long', [
    'm'.repeat(101),
    '🛒'.repeat(101),
  ]),

  ...accepts('correlation_id', [ABSENT, '', 'c', 'c'.repeat(5_000)]),
  ...refuses('correlation_id', TEXT, NO_TEXTS),

  ...accepts('profile_version', [ABSENT, 0, 1, Number.MAX_SAFE_INTEGER]),
  ...refuses('profile_version', 'must be an integer', [0.5, -0.5]),
  ...refuses('profile_version', 'must be a number', [null, '1', '', true, [], {}]),
  ...refuses('profile_version', 'must be at least 0', [-1]),

  ...refuses('transaction', `is required and ${OBJECT}`, [ABSENT]),
  ...refuses('transaction', OBJECT, NO_OBJECTS),

  ...accepts('payment_method', [ABSENT]),
  ...refuses('payment_method', OBJECT, NO_OBJECTS),
  ...refuses('payment_method.type', `is required and ${TEXT}`, [ABSENT]),
  ...refuses('payment_method.type', TEXT, NO_TEXTS),
  ...accepts('payment_method.type', ['', 'CARD', '간편결제', 't'.repeat(5_000)]),
  ...refuses('payment_method.token', `is required and ${TEXT}`, [ABSENT]),
  ...refuses('payment_method.token', TEXT, NO_TEXTS),
  ...refuses('payment_method.token', 'must be at least 1 character long', ['']),
  ...accepts('payment_method.token', ['t', 't'.repeat(5_000)]),

  ...FREE_FORM.flatMap((field) => [
    ...accepts(field, [ABSENT, {}, { a: null, b: [1, 'x', { c: false }], d: -1.5e-7, '': '' }]),
    ...refuses(field, OBJECT, NO_OBJECTS),
  ]),

  // additionalProperties, on every level.
  ...['site_code', 'x', '', '가', 'constructor', 'toString', 'Source_Event_Id'].map((name) => ({
    at: name === '' ? 'transaction. ' : name,
    value: 1,
    refused: 'is not declared by the contract',
    path: name === '' ? 'transaction.<undeclared>' : '<undeclared>',
  })),
  ...['x', 'constructor', 'hasOwnProperty', 'merchant_external_id', 'Amount_minor'].map((name) => ({
    at: `transaction.${name}`,
    value: null,
    refused: 'is not declared by the contract',
    path: 'transaction.<undeclared>',
  })),
  ...['x', 'constructor', 'toString', 'valueOf', 'hasOwnProperty', 'then', 'toJSON'].flatMap(
    (name) => [
      { at: `payment_method.${name}`, value: { y: [null] } },
      { at: `order.${name}`, value: null },
      { at: `device.a.b.${name}`, value: 'z' },
    ],
  ),
  ...['payment_method', 'order', 'customer.a.b'].map((parent) => ({
    at: parent,
    value: JSON.parse('{"type":"CARD","token":"t","__proto__":{"x":1}}') as unknown,
    refused: 'must not be named __proto__',
    path:
      parent === 'customer.a.b'
        ? 'customer.<undeclared>.<undeclared>.<undeclared>'
        : `${parent}.<undeclared>`,
  })),
];

describe('rules of TransactionEvent (section 2.1 and 2.3)', () => {
  itHoldsOn(ruleBench(), ROWS);
});
