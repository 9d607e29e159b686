import { isDeepStrictEqual } from 'node:util';
import { writeOf, type Json } from '../events.ts';
import type { Answer } from '../types.ts';
import { casesOf, invalid, SUBMIT, USAGE, type Bench, type Case } from './case.ts';
import { changed, fieldFaults } from './field-faults.ts';

/** What the gateway publishes is what it is judged by. */
export function documentCases({ probe }: Bench): Case[] {
  const path = '/openapi.json';
  const make = casesOf('document', `GET ${path}`);
  return [
    make('the published description is the one checked against', async () => {
      const answer = await probe.fetch({ method: 'GET', path });
      if (answer === undefined) return;
      if (answer.status !== 200) probe.report('status', '200', String(answer.status));
      else if (!isDeepStrictEqual(answer.body, probe.description.document)) {
        probe.report('body', 'the description of this checkout', 'another one');
      }
    }),
  ];
}

/** What a sandbox key gets for good calls. */
export function acceptanceCases({ probe, events, sandbox }: Bench): Case[] {
  const submit = casesOf('acceptance', 'submitTransaction');
  const simulated = async (event: Json): Promise<Json | undefined> => {
    const answer = await probe.call(
      'submitTransaction',
      sandbox,
      { ...SUBMIT, ...writeOf(event) },
      { status: 200 },
    );
    return answer?.body as Json | undefined;
  };
  const forced = (['ALLOW', 'REVIEW', 'BLOCK'] as const).map((decision) =>
    submit(`the token of ${decision} gives ${decision}`, async () => {
      const token = `tok_sandbox_${decision.toLowerCase()}`;
      const body = await simulated(events.event({ payment_method: { type: 'CARD', token } }));
      if (body !== undefined) probe.equal('body.decision', body['decision'], decision);
    }),
  );
  return [
    submit('a valid event is simulated', async () => {
      const event = events.event();
      const body = await simulated(event);
      if (body === undefined) return;
      const id = body['source_event_id'];
      probe.equal('body.source_event_id', id, event['source_event_id'], 'the id that was sent');
    }),
    submit('an event with every optional field is simulated', async () => {
      await simulated(events.event(OPTIONAL, OPTIONAL_TRANSACTION));
    }),
    submit('a tid becomes the source_event_id', async () => {
      const tid = events.newId();
      const body = await simulated(events.event({}, { tid }));
      if (body !== undefined)
        probe.equal('body.source_event_id', body['source_event_id'], tid, 'the tid that was sent');
    }),
    submit('a length of 120 and 60 instalments are within bounds', async () => {
      const id = events.newId().padEnd(120, 'x');
      await simulated(
        events.event({ source_event_id: id }, { source_event_id: id, installment_months: 60 }),
      );
    }),
    submit('a content type with charset=utf-8 is accepted', async () => {
      const write = writeOf(events.event());
      const headers = { ...write.headers, 'content-type': 'application/json; charset=utf-8' };
      await probe.call(
        'submitTransaction',
        sandbox,
        { ...SUBMIT, ...write, headers },
        { status: 200 },
      );
    }),
    ...forced,
    casesOf('acceptance', 'getApiUsage')('the sandbox tells that it uses no quota', async () => {
      const answer = await probe.call('getApiUsage', sandbox, USAGE, { status: 200 });
      if (answer === undefined) return;
      probe.equal('body.environment', (answer.body as Json)['environment'], 'sandbox');
      const policy = answer.headers.get('ratelimit-policy')?.[0];
      probe.equal('header RateLimit-Policy', policy, '"credential";q=120;w=60', '120 in 60 s');
    }),
    casesOf('acceptance', 'getApiUsage')(
      "a caller's own x-request-id is not taken over",
      async () => {
        const own = `req_${'c'.repeat(32)}`;
        const answer = await probe.call(
          'getApiUsage',
          sandbox,
          { ...USAGE, headers: { 'x-request-id': own } },
          { status: 200 },
        );
        if (answer?.headers.get('x-request-id')?.includes(own) === true)
          probe.report('header x-request-id', 'an id made by the service', "the caller's");
      },
    ),
  ];
}

const OPTIONAL = {
  correlation_id: 'contract-check',
  profile_version: 0,
  order: { shipping_country: 'KR', items: [{ name: '상품', price: 1 }] },
  customer: { customer_id: 'contract-check', account_age_days: 1 },
  device: { device_id: 'contract-check' },
  session: {},
  network: { ip_prefix: '203.0.113.0/24', country: 'KR' },
  velocity: { last_hour: 1.5, seen: null },
};

const OPTIONAL_TRANSACTION = {
  auth_no_token: 'tok_1',
  response_code: '00',
  reason_code: 'NONE',
  is_cross_border: false,
  requested_at: '2026-03-01T00:00:00.123456Z',
  business_type: 'RETAIL',
};

/** One case for every value that breaks the schema of an event, and for the rules between fields. */
export function fieldCases({ probe, events, sandbox }: Bench): Case[] {
  const make = casesOf('fields', 'submitTransaction');
  const refuse = async (event: unknown, ...paths: string[]): Promise<void> => {
    const call = { ...SUBMIT, ...writeOf(event) };
    await probe.call('submitTransaction', sandbox, call, invalid(...paths));
  };
  const { schemas } = probe.description;
  const schema = schemas['TransactionEvent'];
  if (schema === undefined) throw new Error('the description has no schema TransactionEvent');
  const faults = fieldFaults(schema, schemas).map(({ name, path, place, value }) =>
    make(name, () =>
      // The optional fields are there, so that each refusal has one cause only.
      refuse(changed(events.event(OPTIONAL, OPTIONAL_TRANSACTION), place, value), path),
    ),
  );
  const conditional = ['CANCEL', 'REFUND', 'CHARGEBACK'].map((type) =>
    make(`transaction.original_event_id is left out of a ${type}`, () =>
      refuse(
        events.event({ event_type: `PAYMENT_${type}` }, { type }),
        'transaction.original_event_id',
      ),
    ),
  );
  return [
    ...faults,
    ...conditional,
    make('transaction.installment_months is left out of a PAYMENT_AUTH', () =>
      refuse(events.event({}, { installment_months: undefined }), 'transaction.installment_months'),
    ),
    make('the source_event_ids of envelope and transaction differ', () =>
      refuse(events.event({}, { source_event_id: events.newId() })),
    ),
  ];
}

/** Test values of the card schemes and documentation ranges; each must be refused and never repeated. */
const FORBIDDEN: Record<string, { part: Json; secret?: string }> = {
  'a card number': { part: { order: { note: '4111111111111111' } }, secret: '4111111111111111' },
  'a card number in groups, deep inside a text': {
    part: { session: { a: [{ b: 'paid with 5555 5555 5555 4444 today' }] } },
    secret: '5555 5555 5555 4444',
  },
  'a card number as a number': {
    part: { velocity: { value: 378282246310005 } },
    secret: '378282246310005',
  },
  'a card number as a key': {
    part: { customer: { '6011111111111117': true } },
    secret: '6011111111111117',
  },
  'a field named cvc': { part: { payment_method: { type: 'CARD', token: 'tok_1', cvc: '987' } } },
  'a field named password': {
    part: { customer: { userPassword: 'contract-check-secret' } },
    secret: 'contract-check-secret',
  },
  'an account number': {
    part: { order: { iban: 'DE89370400440532013000' } },
    secret: 'DE89370400440532013000',
  },
  'an IPv4 address': { part: { network: { origin: '198.51.100.23' } }, secret: '198.51.100.23' },
  'an IPv6 address': { part: { network: { origin: '2001:db8::17' } }, secret: '2001:db8::17' },
};

/** Forbidden data is refused wherever it stands, and what only looks like it passes. */
export function forbiddenCases({ probe, events, sandbox }: Bench): Case[] {
  const make = casesOf('forbidden data', 'submitTransaction');
  const send = (
    event: Json,
    expected: Parameters<typeof probe.call>[3],
  ): Promise<Answer | undefined> =>
    probe.call('submitTransaction', sandbox, { ...SUBMIT, ...writeOf(event) }, expected);
  const refusals = Object.entries(FORBIDDEN).map(([name, { part, secret }]) =>
    make(`${name} is refused`, async () => {
      const secrets = secret === undefined ? [] : [secret];
      await send(events.event(part), { ...invalid(), secrets });
    }),
  );
  return [
    ...refusals,
    make('bin, last four, an address prefix and a user agent pass', async () => {
      await send(
        events.event({
          payment_method: { type: 'CARD', token: 'tok_1', bin: '411111', last4: '1111' },
          network: { ip_prefix: '203.0.113.0/24' },
          device: { user_agent: 'Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0.0.0 Safari/537.36' },
        }),
        { status: 200 },
      );
    }),
  ];
}
