import { expect } from 'chai';
import { expectBody, expectError } from '../../support/bodies.ts';
import { ABSENT, type FieldRow } from '../../support/field-rows.ts';
import { eventOf, merchant, type EventChanges } from '../../support/merchant.ts';
import { itHoldsOn, ruleBench } from '../../support/rules.ts';

const EVENT_TYPES = [
  'PROFILE_UPSERT',
  'PAYMENT_AUTH',
  'PAYMENT_CAPTURE',
  'PAYMENT_CANCEL',
  'PAYMENT_REFUND',
  'PAYMENT_CHARGEBACK',
];
const TYPES = ['AUTH', 'CAPTURE', 'PAYMENT', 'CANCEL', 'REFUND', 'CHARGEBACK'];

/** Every combination of event_type and type, with and without an original: only its absence can be refused. */
const ORIGINALS: FieldRow[] = EVENT_TYPES.flatMap((event_type) =>
  TYPES.flatMap((type): FieldRow[] => {
    const event: EventChanges = { event_type, transaction: { type } };
    const at = 'transaction.original_event_id';
    const refused = 'is required for cancel, refund and chargeback';
    const takesBack = /CANCEL|REFUND|CHARGEBACK/.test(event_type + type);
    return [
      { at, value: ABSENT, event, ...(takesBack ? { refused } : {}) },
      { at, value: 'original-1', event },
    ];
  }),
);

const INSTALLMENTS: FieldRow[] = EVENT_TYPES.map((event_type) => ({
  at: 'transaction.installment_months',
  value: ABSENT,
  event: { event_type, transaction: { original_event_id: 'original-1' } },
  ...(event_type === 'PAYMENT_AUTH'
    ? { refused: 'is required for PAYMENT_AUTH; send 0 when there are no installments' }
    : {}),
}));

describe('conditional fields of events (sections 2.1 and 2.2)', () => {
  const bench = ruleBench();

  itHoldsOn(bench, [...ORIGINALS, ...INSTALLMENTS]);

  it('a combination of broken rules names each of them', async () => {
    const event = eventOf({
      event_type: 'PAYMENT_AUTH',
      transaction: { type: 'REFUND', source_event_id: 'x', installment_months: undefined },
    });
    expectError(await bench.caller().submit(event), 'CONTRACT_VALIDATION_FAILED', [
      'transaction.source_event_id: must equal source_event_id of the envelope',
      'transaction.original_event_id: is required for cancel, refund and chargeback',
      'transaction.installment_months: is required for PAYMENT_AUTH; send 0 when there are no installments',
    ]);
  });

  it('both source_event_id must be equal also where a tid replaces them', async () => {
    const event = eventOf({ transaction: { tid: 'tid-1', source_event_id: 'tid-1' } });
    expectError(await bench.caller().submit(event), 'CONTRACT_VALIDATION_FAILED', [
      'transaction.source_event_id: must equal source_event_id of the envelope',
    ]);
  });

  it('at most twenty problems are named', async () => {
    const answer = await bench.caller().submit({
      transaction: { tid: '', currency: 'krw', original_event_id: '', requested_at: '' },
      merchant_external_id: '',
      correlation_id: 1,
      profile_version: -1,
      payment_method: {},
      order: 1,
      customer: 1,
      device: 1,
      session: 1,
      network: 1,
      velocity: 1,
    });
    expectError(answer, 'CONTRACT_VALIDATION_FAILED');
    expect(answer.body.error.details).to.have.length(20);
    expect(new Set(answer.body.error.details)).to.have.length(20);
  });
});

describe('merchant_external_id of a MULTI_MERCHANT customer', () => {
  const bench = ruleBench({ customerType: 'MULTI_MERCHANT' });

  itHoldsOn(bench, [
    {
      at: 'merchant_external_id',
      value: ABSENT,
      refused: 'is required for this customer (MULTI_MERCHANT)',
    },
    { at: 'merchant_external_id', value: '', refused: 'must be at least 1 character long' },
    { at: 'merchant_external_id', value: null, refused: 'must be a string' },
    { at: 'merchant_external_id', value: 'm' },
    { at: 'merchant_external_id', value: 'm'.repeat(100) },
  ]);

  it('is demanded in the sandbox, too', async () => {
    const { apiKey } = await bench.site().issue({ environment: 'sandbox' });
    const sandbox = merchant(bench.service().url, apiKey);
    expectError(await sandbox.submit(eventOf()), 'CONTRACT_VALIDATION_FAILED', [
      'merchant_external_id: is required for this customer (MULTI_MERCHANT)',
    ]);
    expectBody(
      await sandbox.submit(eventOf({ merchant_external_id: 'm' })),
      200,
      'SandboxSimulation',
    );
  });
});
