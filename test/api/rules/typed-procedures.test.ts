import { randomUUID } from 'node:crypto';
import { TRPCError } from '@trpc/server';
import { expect } from 'chai';
import { ZodError } from 'zod';
import { Refusal, type ErrorCode } from '../../../contract/errors.ts';
import { createCallerFactory, type Caller, type Context } from '../../../routers/procedure.ts';
import { v1Router } from '../../../routers/v1/router.ts';
import { ABSENT, eventWith } from '../../support/field-rows.ts';
import { eventOf } from '../../support/merchant.ts';
import { ruleBench } from '../../support/rules.ts';

const createCaller = createCallerFactory(v1Router);

/** Values that a coercing schema would take for a number, a flag or a text. */
const COERCIBLE: Record<string, readonly unknown[]> = {
  'transaction.amount_minor': [
    null,
    '',
    '12',
    ' 12 ',
    true,
    false,
    [],
    ['12'],
    '1e3',
    new Date(0),
    12n,
  ],
  'transaction.installment_months': [null, '', '0', true, [], 0n],
  'transaction.is_cross_border': [null, '', 'true', 'false', 0, 1, 'yes'],
  'transaction.occurred_at': [null, 0, 1767225600000, new Date()],
  'transaction.currency': [null, 410, ['KRW'], { toString: () => 'KRW' }],
  profile_version: [null, '', '1', true],
  source_system: [null, 1, true],
  schema_version: [1, 1.0, null],
  sent_at: [null, new Date(), 1],
  order: [null, '', '{}', []],
  transaction: [null, '{}', []],
  site_code: [1],
};

describe('the typed procedures are as strict as the REST paths', () => {
  const bench = ruleBench();
  let caller: Caller;

  before(async () => {
    const { credentialId } = await bench.site().issue();
    caller = {
      credentialId: BigInt(credentialId),
      siteId: BigInt(bench.site().siteId),
      environment: 'production',
      customerType: 'SINGLE_COMPANY',
      defaultSubject: 'subject',
      permissions: new Set(['ingest', 'read', 'label']),
    };
    // REST calls first: an adapter that changes the shared schemas does so on the first one.
    await bench.caller().submit(eventOf());
    await bench.caller().submit(eventOf({ transaction: { amount_minor: '12' } }));
    await bench.caller().label('x', { outcome_label: 'FRAUD_CONFIRMED' });
    await bench.caller().ingestion('ing_1');
  });

  const procedures = (context: Partial<Context> = {}) =>
    createCaller({
      services: bench.service().service.wiring.api.services,
      requestId: 'req_test',
      caller,
      idempotencyKey: randomUUID(),
      ...context,
    });

  /** The reason of a refusal: a code of ours, or the schema. */
  const reasonOf = async (call: Promise<unknown>): Promise<ErrorCode | 'schema'> => {
    try {
      await call;
    } catch (error: unknown) {
      expect(error).to.be.instanceOf(TRPCError);
      const { cause } = error as TRPCError;
      if (cause instanceof Refusal) return cause.code;
      if (cause instanceof ZodError) return 'schema';
      throw error;
    }
    throw new Error('it was not refused');
  };
  const submit = (event: unknown) => procedures().submitTransaction(event as never);

  it('a good event is accepted', async () => {
    const answer = await submit(eventOf());
    expect(answer.status).to.equal('ACCEPTED');
  });

  for (const [at, values] of Object.entries(COERCIBLE)) {
    it(`${at} takes nothing that would have to be converted`, async () => {
      for (const value of [...values, ...(at === 'site_code' ? [] : [ABSENT])]) {
        const optional = /profile_version|cross_border|order/.test(at) && value === ABSENT;
        if (optional) continue;
        const reason = await reasonOf(submit(eventWith({ at, value })));
        expect(reason).to.be.oneOf(['schema', 'CONTRACT_VALIDATION_FAILED']);
      }
    });
  }

  it('what JSON cannot hold is refused, not converted', async () => {
    for (const value of [undefined, null, '', [], 1n, Symbol('x'), () => 1, NaN, Infinity]) {
      expect(await reasonOf(submit(value))).to.be.oneOf(['schema', 'CONTRACT_VALIDATION_FAILED']);
    }
    for (const value of [NaN, Infinity, 1n, () => 1, Symbol('x')]) {
      const event = { ...eventOf(), order: { value } };
      expect(await reasonOf(submit(event))).to.equal('CONTRACT_VALIDATION_FAILED');
    }
  });

  it('ids and labels are as strict', async () => {
    const { getIngestion, getTransactionRisk, appendTransactionOutcome, getApiUsage } =
      procedures();
    const refused: Promise<unknown>[] = [
      getIngestion({ ingestionId: 17 } as never),
      getIngestion({ ingestionId: 'ing_1', more: 1 } as never),
      getIngestion(undefined as never),
      getTransactionRisk({ sourceEventId: '' }),
      getTransactionRisk({ sourceEventId: 17 } as never),
      appendTransactionOutcome({ sourceEventId: 'x' } as never),
      appendTransactionOutcome({ sourceEventId: 'x', outcome_label: 'FRAUD' } as never),
      appendTransactionOutcome({
        sourceEventId: 'x',
        outcome_label: 'FALSE_POSITIVE',
        more: 1,
      } as never),
      getApiUsage({ more: 1 } as never),
    ];
    for (const call of refused) {
      expect(await reasonOf(call)).to.be.oneOf(['schema', 'CONTRACT_VALIDATION_FAILED']);
    }
  });

  it('nothing is done without a caller, a permission or a key', async () => {
    const bare = createCaller({
      services: bench.service().service.wiring.api.services,
      requestId: 'req_test',
      idempotencyKey: randomUUID(),
    });
    for (const call of [
      bare.submitTransaction(eventOf() as never),
      bare.getIngestion({ ingestionId: 'ing_1' }),
      bare.getTransactionRisk({ sourceEventId: 'x' }),
      bare.appendTransactionOutcome({ sourceEventId: 'x', outcome_label: 'FALSE_POSITIVE' }),
      bare.getApiUsage({}),
    ]) {
      expect(await reasonOf(call)).to.equal('UNAUTHORIZED');
    }
    const powerless = procedures({ caller: { ...caller, permissions: new Set() } });
    for (const call of [
      powerless.submitTransaction(eventOf() as never),
      powerless.getIngestion({ ingestionId: 'ing_1' }),
      powerless.getTransactionRisk({ sourceEventId: 'x' }),
      powerless.appendTransactionOutcome({ sourceEventId: 'x', outcome_label: 'FALSE_POSITIVE' }),
    ]) {
      expect(await reasonOf(call)).to.equal('FORBIDDEN');
    }
    for (const idempotencyKey of [undefined, 'short', 'has a blank', 'k-4111111111111111']) {
      const keyless = procedures({ idempotencyKey });
      expect(await reasonOf(keyless.submitTransaction(eventOf() as never))).to.equal(
        'CONTRACT_VALIDATION_FAILED',
      );
    }
  });

  it('forbidden data are refused before the schema sees them', async () => {
    expect(await reasonOf(submit({ ...eventOf(), card_number: '4111111111111111' }))).to.equal(
      'CONTRACT_VALIDATION_FAILED',
    );
    expect(
      await reasonOf(procedures().getTransactionRisk({ sourceEventId: '4111111111111111' })),
    ).to.equal('CONTRACT_VALIDATION_FAILED');
  });
});
