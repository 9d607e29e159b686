import { expect } from 'chai';
import { z } from 'zod';
import { problemsOfZodError, wordProblems } from '../../contract/problem.ts';
import {
  crossFieldProblems,
  customerTypeProblems,
  namesAnOriginal,
  normalizedSourceEventId,
} from '../../contract/transaction-rules.ts';
import {
  CanonicalTransaction,
  EventType,
  PaymentMethodContext,
  TransactionEvent,
  TransactionType,
} from '../../contract/transaction.ts';

/** A right event, as parsed JSON. */
function event(over: object = {}, transaction: object = {}): Record<string, unknown> {
  return {
    schema_version: '1.0',
    source_event_id: 'order-17',
    occurred_at: '2026-03-01T09:00:00+09:00',
    sent_at: '2026-03-01T09:00:01+09:00',
    source_system: 'shop',
    event_type: 'PAYMENT_AUTH',
    transaction: {
      source_event_id: 'order-17',
      type: 'AUTH',
      status: 'APPROVED',
      occurred_at: '2026-03-01T09:00:00+09:00',
      amount_minor: 129000,
      currency: 'KRW',
      channel: 'ECOMMERCE',
      installment_months: 0,
      ...transaction,
    },
    ...over,
  };
}

/** The worded problems of an event; empty when it is accepted. */
function problemsOf(value: unknown): string[] {
  const result = TransactionEvent.safeParse(value);
  return wordProblems(
    result.success ? crossFieldProblems(result.data) : problemsOfZodError(result.error, value),
  );
}

function parsed(over: object = {}, transaction: object = {}): TransactionEvent {
  return TransactionEvent.parse(event(over, transaction));
}

const TOO_LONG = 'x'.repeat(121);

describe('contract/transaction: shape', () => {
  it('an event with every field, and further fields where they are allowed, comes back unchanged', () => {
    const full = event(
      {
        merchant_external_id: 'm'.repeat(100),
        correlation_id: '',
        profile_version: 0,
        payment_method: { type: 'CARD', token: 't', bin: '411111', nested: { any: [null, 1] } },
        order: { items: [{ a: null }] },
        customer: {},
        device: { x: 1 },
        session: { y: [] },
        network: { ip_prefix: '203.0.113.0/24' },
        velocity: { n: 1.5 },
      },
      {
        original_event_id: 'order-1',
        tid: 't'.repeat(120),
        auth_no_token: '',
        response_code: '00',
        reason_code: '',
        is_cross_border: false,
        requested_at: '2026-03-01T00:00:00Z',
        business_type: 'RETAIL',
        installment_months: 60,
      },
    );
    expect(problemsOf(full)).to.deep.equal([]);
    expect(TransactionEvent.parse(full)).to.deep.equal(full);
  });

  for (const field of [
    'schema_version',
    'source_event_id',
    'occurred_at',
    'sent_at',
    'source_system',
    'event_type',
    'transaction',
  ]) {
    it(`${field} is required`, () => {
      const { [field]: _left, ...rest } = event();
      expect(problemsOf(rest)[0]).to.match(new RegExp(`^${field}: is required`));
    });
  }

  for (const field of [
    'source_event_id',
    'type',
    'status',
    'occurred_at',
    'amount_minor',
    'currency',
    'channel',
  ]) {
    it(`transaction.${field} is required`, () => {
      expect(problemsOf(event({}, { [field]: undefined }))[0]).to.match(
        new RegExp(`^transaction.${field}: is required`),
      );
    });
  }

  const refused: [path: string, over: object, transaction?: object][] = [
    ['schema_version', { schema_version: '1.1' }],
    ['schema_version', { schema_version: 1 }],
    ['source_event_id', { source_event_id: '' }],
    ['source_event_id', { source_event_id: TOO_LONG }],
    ['occurred_at', { occurred_at: '2026-03-01T09:00:00' }],
    ['sent_at', { sent_at: 1767225600 }],
    ['source_system', { source_system: '' }],
    ['event_type', { event_type: 'payment_auth' }],
    ['merchant_external_id', { merchant_external_id: '' }],
    ['merchant_external_id', { merchant_external_id: 'm'.repeat(101) }],
    ['profile_version', { profile_version: -1 }],
    ['profile_version', { profile_version: '1' }],
    ['order', { order: [] }],
    ['customer', { customer: 'x' }],
    ['payment_method.token', { payment_method: { type: 'CARD', token: '' } }],
    ['payment_method.type', { payment_method: { token: 't' } }],
    ['<undeclared>', { site_code: 'X' }],
    ['transaction', { transaction: [] }],
    ['transaction.type', {}, { type: 'VOID' }],
    ['transaction.status', {}, { status: 'approved' }],
    ['transaction.amount_minor', {}, { amount_minor: -1 }],
    ['transaction.amount_minor', {}, { amount_minor: 0.5 }],
    ['transaction.amount_minor', {}, { amount_minor: '1200' }],
    ['transaction.amount_minor', {}, { amount_minor: true }],
    ['transaction.currency', {}, { currency: 'krw' }],
    ['transaction.channel', {}, { channel: 'WEB' }],
    ['transaction.installment_months', {}, { installment_months: 61 }],
    ['transaction.installment_months', {}, { installment_months: -1 }],
    ['transaction.tid', {}, { tid: '' }],
    ['transaction.tid', {}, { tid: TOO_LONG }],
    ['transaction.original_event_id', {}, { original_event_id: '' }],
    ['transaction.original_event_id', {}, { original_event_id: TOO_LONG }],
    ['transaction.is_cross_border', {}, { is_cross_border: 'false' }],
    ['transaction.requested_at', {}, { requested_at: '' }],
    ['transaction.<undeclared>', {}, { note: 'x' }],
  ];
  for (const [path, over, transaction] of refused) {
    it(`${JSON.stringify(transaction ?? over).slice(0, 60)} is refused at ${path}`, () => {
      const lines = problemsOf(event(over, transaction));
      expect(lines).to.have.length(1);
      expect(lines[0]).to.match(new RegExp(`^${path.replaceAll('.', '\\.')}: `));
    });
  }

  it('null is no substitute for leaving an optional field out', () => {
    const optional = (schema: z.ZodObject) =>
      Object.entries(schema.shape)
        .filter(([, field]) => field instanceof z.ZodOptional)
        .map(([name]) => name);
    for (const name of optional(TransactionEvent)) {
      expect(problemsOf(event({ [name]: null })), name).to.have.length(1);
    }
    for (const name of optional(CanonicalTransaction)) {
      expect(problemsOf(event({}, { [name]: null })), name).to.have.length(1);
    }
  });

  it('neither coerces nor trims, on the first call and after it', () => {
    for (const amount of [null, '', '12', ' 12 ', true, 'false', [], {}, '1e3']) {
      expect(TransactionEvent.safeParse(event({}, { amount_minor: amount })).success).to.equal(
        false,
      );
    }
    expect(parsed({ source_system: ' s ' }).source_system).to.equal(' s ');
  });

  it('payment_method takes further properties, unlike the event and its transaction', () => {
    expect(PaymentMethodContext.safeParse({ type: '', token: 't', x: { y: 1 } }).success).to.equal(
      true,
    );
  });

  it('describes itself to OpenAPI by name, with bounds and without undeclared properties', () => {
    const document = JSON.stringify(
      z.toJSONSchema(TransactionEvent, { target: 'openapi-3.0', io: 'input' }),
    );
    for (const part of [
      '"CanonicalTransaction"',
      '"PaymentMethodContext"',
      '"maxLength":120',
      '"maxLength":100',
      '"format":"date-time"',
      '"additionalProperties":false',
    ]) {
      expect(document).to.include(part);
    }
  });
});

describe('contract/transaction: rules across fields', () => {
  it('both source_event_id must be equal', () => {
    expect(problemsOf(event({}, { source_event_id: 'other' }))).to.deep.equal([
      'transaction.source_event_id: must equal source_event_id of the envelope',
    ]);
  });

  it('cancel, refund and chargeback must name their original, whichever field says so', () => {
    for (const event_type of EventType.options) {
      for (const type of TransactionType.options) {
        const reverses = /CANCEL|REFUND|CHARGEBACK/.test(event_type + type);
        expect(namesAnOriginal(parsed({ event_type }, { type })), `${event_type} ${type}`).to.equal(
          reverses,
        );
        const paths = crossFieldProblems(parsed({ event_type }, { type })).map(({ path }) => path);
        expect(paths).to.deep.equal(reverses ? ['transaction.original_event_id'] : []);
        expect(
          crossFieldProblems(parsed({ event_type }, { type, original_event_id: 'o' })),
        ).to.deep.equal([]);
      }
    }
  });

  it('installment_months is required for PAYMENT_AUTH only', () => {
    for (const event_type of EventType.options) {
      const without = parsed(
        { event_type },
        { installment_months: undefined, original_event_id: 'o' },
      );
      const paths = crossFieldProblems(without).map(({ path }) => path);
      expect(paths).to.deep.equal(
        event_type === 'PAYMENT_AUTH' ? ['transaction.installment_months'] : [],
      );
    }
  });

  it('every broken rule is named at once', () => {
    const broken = event(
      { event_type: 'PAYMENT_AUTH' },
      { type: 'REFUND', installment_months: undefined, source_event_id: 'other' },
    );
    expect(problemsOf(broken)).to.have.length(3);
  });

  it('merchant_external_id is required for MULTI_MERCHANT customers only', () => {
    expect(customerTypeProblems(parsed(), 'SINGLE_COMPANY')).to.deep.equal([]);
    expect(customerTypeProblems(parsed(), 'MULTI_MERCHANT')[0]?.path).to.equal(
      'merchant_external_id',
    );
    const named = parsed({ merchant_external_id: 'm' });
    expect(customerTypeProblems(named, 'MULTI_MERCHANT')).to.deep.equal([]);
  });

  it('the TID replaces the event id where one is supplied', () => {
    expect(normalizedSourceEventId(parsed())).to.equal('order-17');
    expect(normalizedSourceEventId(parsed({}, { tid: 'T1' }))).to.equal('T1');
  });
});
