import { randomUUID } from 'node:crypto';
import { writeOf } from '../events.ts';
import type { Expectation } from '../judge.ts';
import { casesOf, invalid, SUBMIT, USAGE, type Bench, type Case } from './case.ts';

/** Headers, bodies, ids and paths that are wrong whatever the event says. All with the sandbox key. */
export function requestCases(bench: Bench): Case[] {
  return [...keyCases(bench), ...bodyCases(bench), ...pathCases(bench)];
}

const BAD_KEYS: Record<string, string | undefined> = {
  missing: undefined,
  'of 7 characters': 'abcdefg',
  'of 129 characters': 'k'.repeat(129),
  'with a blank': 'contract check 1',
  'with a slash': 'contract/check/1',
};

function keyCases({ probe, events, sandbox }: Bench): Case[] {
  const make = casesOf('requests', 'submitTransaction');
  return Object.entries(BAD_KEYS).map(([what, key]) =>
    make(`an Idempotency-Key ${what} is refused`, async () => {
      const { headers, body } = writeOf(events.event());
      const { 'idempotency-key': _, ...rest } = headers;
      const sent = key === undefined ? rest : { ...rest, 'idempotency-key': key };
      await probe.call(
        'submitTransaction',
        sandbox,
        { ...SUBMIT, headers: sent, body },
        invalid('Idempotency-Key'),
      );
    }),
  );
}

const BAD_BODIES: Record<string, string | Buffer> = {
  'an empty body': '',
  'a body that is cut off': '{"schema_version": "1.0",',
  'an array': '[]',
  null: 'null',
  'a text': '"event"',
  'bytes that are no UTF-8': Buffer.from('7b2261223a22ff227d', 'hex'),
  'a body of more than 256 KiB': `{"schema_version":"${'x'.repeat(256 * 1024)}"}`,
  'a body nested deeper than 32 levels': `{"order":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`,
  'a body of more than 4,096 keys': JSON.stringify({
    order: Object.fromEntries(Array.from({ length: 4200 }, (_, i) => [`k${i}`, 1])),
  }),
  'an own __proto__ key': '{"order":{"__proto__":{}}}',
};

function bodyCases({ probe, events, sandbox }: Bench): Case[] {
  const make = casesOf('requests', 'submitTransaction');
  const refuse = async (
    body: string | Buffer,
    headers: Record<string, string>,
    ...paths: string[]
  ): Promise<void> => {
    const key = { 'idempotency-key': randomUUID() };
    const call = { ...SUBMIT, headers: { ...key, ...headers }, body };
    await probe.call('submitTransaction', sandbox, call, invalid(...paths));
  };
  const json = { 'content-type': 'application/json' };
  return [
    ...Object.entries(BAD_BODIES).map(([what, body]) =>
      make(`${what} is refused`, () => refuse(body, json)),
    ),
    make('another content type is refused', () =>
      refuse(JSON.stringify(events.event()), { 'content-type': 'text/plain' }, 'Content-Type'),
    ),
    make('a missing content type is refused', () =>
      refuse(JSON.stringify(events.event()), {}, 'Content-Type'),
    ),
    make('a compressed body is refused', () =>
      refuse(
        JSON.stringify(events.event()),
        { ...json, 'content-encoding': 'gzip' },
        'Content-Encoding',
      ),
    ),
  ];
}

function pathCases({ probe, sandbox, events }: Bench): Case[] {
  const cases: Case[] = [];
  const get = (operation: string, name: string, path: string, expected: Expectation): void => {
    cases.push(
      casesOf('requests', operation)(name, async () => {
        await probe.call(operation, sandbox, { method: 'GET', path }, expected);
      }),
    );
  };
  for (const id of ['ing_', 'ing_x', '12', 'ING_12']) {
    get('getIngestion', `an ingestionId like ${id} is refused`, `/v1/ingestions/${id}`, invalid());
  }
  get('getIngestion', 'an unknown ingestion is not found', '/v1/ingestions/ing_0', {
    status: 404,
    code: 'INGESTION_NOT_FOUND',
  });
  const ids: Record<string, string> = {
    'an empty sourceEventId': '',
    'a sourceEventId of 121 characters': 'x'.repeat(121),
    'a sourceEventId that is badly percent-encoded': '%ff',
  };
  for (const [what, id] of Object.entries(ids)) {
    get('getTransactionRisk', `${what} is refused`, `/v1/transactions/${id}/risk`, invalid());
  }
  get(
    'getTransactionRisk',
    'a card number as sourceEventId is refused and not repeated',
    '/v1/transactions/4111111111111111/risk',
    {
      ...invalid(),
      secrets: ['4111111111111111'],
    },
  );
  const missing = { status: 404, code: 'TRANSACTION_NOT_FOUND' } as const;
  get(
    'getTransactionRisk',
    'an unknown transaction is not found',
    `/v1/transactions/${events.newId()}/risk`,
    missing,
  );
  cases.push(
    casesOf('requests', 'appendTransactionOutcome')(
      'an outcome of an unknown transaction is not found',
      async () => {
        const path = `/v1/transactions/${events.newId()}/outcomes`;
        const write = writeOf({ outcome_label: 'FALSE_POSITIVE' });
        await probe.call(
          'appendTransactionOutcome',
          sandbox,
          { method: 'POST', path, ...write },
          missing,
        );
      },
    ),
    ...undescribedCases({ probe, sandbox }),
  );
  return cases;
}

function undescribedCases({ probe, sandbox }: Pick<Bench, 'probe' | 'sandbox'>): Case[] {
  const allow = async (method: string, path: string, wanted: string[]): Promise<void> => {
    const answer = await probe.call(
      `${method} ${path}`,
      sandbox,
      { method, path },
      { status: 405, code: 'METHOD_NOT_ALLOWED', counted: false },
    );
    if (answer === undefined) return;
    const allowed = (answer.headers.get('allow')?.[0] ?? '').split(/, */);
    if (wanted.some((name) => !allowed.includes(name)))
      probe.report('header Allow', wanted.join(', '), allowed.join(', ') || 'none');
  };
  return [
    casesOf('requests', 'GET /v1/contract-check')('an unknown path is not found', async () => {
      const path = '/v1/contract-check';
      await probe.call(
        `GET ${path}`,
        sandbox,
        { method: 'GET', path },
        { status: 404, code: 'NOT_FOUND', counted: false },
      );
    }),
    casesOf('requests', 'DELETE /v1/usage')('another method is refused, naming those allowed', () =>
      allow('DELETE', '/v1/usage', ['GET']),
    ),
    casesOf('requests', 'GET /v1/transactions')('GET where POST belongs is refused', () =>
      allow('GET', '/v1/transactions', ['POST']),
    ),
    casesOf('requests', 'OPTIONS /v1/usage')('OPTIONS is refused like any other method', () =>
      allow('OPTIONS', '/v1/usage', ['GET']),
    ),
    casesOf('requests', 'HEAD /v1/usage')('HEAD has the status of GET and no body', async () => {
      const answer = await probe.call(
        'HEAD /v1/usage',
        sandbox,
        { ...USAGE, method: 'HEAD' },
        { status: 200, bodiless: true },
      );
      if (answer !== undefined && answer.text !== '') probe.report('body', 'none', 'one');
    }),
  ];
}
