import { expectBody, expectError } from '../../support/bodies.ts';
import { ABSENT, accepts, refuses, type FieldRow } from '../../support/field-rows.ts';
import { eventOf } from '../../support/merchant.ts';
import { itHoldsOn, ruleBench } from '../../support/rules.ts';

const NO_NUMBERS = [null, '', '0', '12', ' 12 ', '1e3', true, false, [], [12], {}];
const NO_WHOLE_ONES = [0.5, 1.5, -0.5, 129_000.01, 1e-7];

const ROWS: FieldRow[] = [
  ...accepts('transaction.amount_minor', [0, 1, 129_000, Number.MAX_SAFE_INTEGER]),
  ...refuses('transaction.amount_minor', 'is required and must be a number', [ABSENT]),
  ...refuses('transaction.amount_minor', 'must be a number', NO_NUMBERS),
  ...refuses('transaction.amount_minor', 'must be an integer', NO_WHOLE_ONES),
  ...refuses('transaction.amount_minor', 'must be at least 0', [-1, -Number.MAX_SAFE_INTEGER]),
  ...accepts('transaction.installment_months', [0, 1, 59, 60]),
  ...refuses('transaction.installment_months', 'must be a number', NO_NUMBERS),
  ...refuses('transaction.installment_months', 'must be an integer', NO_WHOLE_ONES),
  ...refuses('transaction.installment_months', 'must be at least 0', [-1]),
  ...refuses('transaction.installment_months', 'must be at most 60', [61, 1_000_000]),
];

const UNSAFE = 'must be a number between -(2^53 - 1) and 2^53 - 1';

/** What stands in the body as a number, and the verdict: undefined where it is accepted. */
const WRITTEN: readonly (readonly [text: string, refused?: string])[] = [
  // One JSON number, whatever its form.
  ['0'],
  ['-0'],
  ['0.0'],
  ['0e9'],
  ['-0.0E-5'],
  ['1.0'],
  ['1000'],
  ['1e3'],
  ['1E+3'],
  ['10000e-1'],
  ['1000.000000000000000000'],
  ['9007199254740991'],
  ['9007199254740991.0'],
  ['9.007199254740991e15'],
  ['1e-3', 'must be an integer'],
  ['1.0000001e3', 'must be an integer'],
  ['9007199254740992', UNSAFE],
  ['9007199254740993', UNSAFE],
  ['-9007199254740992', UNSAFE],
  ['1e16', UNSAFE],
  ['1e308', UNSAFE],
  ['1e309', UNSAFE],
  ['-1e999', UNSAFE],
  [`1${'0'.repeat(400)}`, UNSAFE],
];

/** What JSON does not know as a number. */
const NO_JSON = ['01', '+1', '.5', '1.', '0x10', '1_000', 'NaN', 'Infinity', '-', '1e', '１'];

describe('rules of numbers', () => {
  const bench = ruleBench();

  itHoldsOn(bench, ROWS);

  const withAmount = (text: string): string =>
    JSON.stringify(eventOf({ transaction: { amount_minor: '@' } })).replace('"@"', text);

  for (const [text, refused] of WRITTEN) {
    const name = text.length > 40 ? `1 and ${text.length - 1} zeros` : text;
    it(`an amount written ${name} is ${refused === undefined ? 'accepted' : 'refused'}`, async () => {
      const answer = await bench.caller().submit(withAmount(text));
      if (refused === undefined) expectBody(answer, 202, 'AcceptedIngestion');
      else {
        expectError(answer, 'CONTRACT_VALIDATION_FAILED', [`transaction.amount_minor: ${refused}`]);
      }
    });
  }

  for (const text of NO_JSON) {
    it(`an amount written ${text} is no JSON`, async () => {
      expectError(await bench.caller().submit(withAmount(text)), 'CONTRACT_VALIDATION_FAILED', [
        'body: is not JSON',
      ]);
    });
  }

  it('the same limits hold for numbers in free-form objects', async () => {
    const withNote = (text: string): string =>
      JSON.stringify(eventOf({ order: { total: '@' } })).replace('"@"', text);
    for (const text of ['-1.5e-7', '9007199254740991', '1e-400', '0.1']) {
      expectBody(await bench.caller().submit(withNote(text)), 202, 'AcceptedIngestion');
    }
    for (const text of ['9007199254740992', '-1e16', '1e400']) {
      expectError(await bench.caller().submit(withNote(text)), 'CONTRACT_VALIDATION_FAILED', [
        `order.<undeclared>: ${UNSAFE}`,
      ]);
    }
  });
});
