import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { expectBody, expectError } from '../../support/bodies.ts';
import { eventOf } from '../../support/merchant.ts';
import { sendRaw, type RawRequest } from '../../support/raw-http.ts';
import { keysOf } from '../../support/keys.ts';
import { ledgerRows } from '../../support/ledger-counts.ts';
import { ruleBench } from '../../support/rules.ts';

const KEY = 'must be 8 to 128 characters of A-Z a-z 0-9 . _ : -';

describe('rules of request headers (sections 4.1, 4.4 and 5)', () => {
  const bench = ruleBench();
  let nextKey: () => Promise<string>;
  let transaction: string;

  before(async () => {
    nextKey = keysOf(bench.site());
    transaction = String(eventOf()['source_event_id']);
    await bench.caller().submit(eventOf({ source_event_id: transaction }));
  });

  /** Sends a good event whose header lines are the given ones, and x-api-key unless told otherwise. */
  const submit = async (headers: readonly string[], more: Partial<RawRequest> = {}) =>
    sendRaw(bench.service().port, {
      method: 'POST',
      path: '/v1/transactions',
      body: JSON.stringify(eventOf()),
      ...more,
      headers: headers.includes('x-api-key') ? headers : [...headers, 'x-api-key', await nextKey()],
    });
  const label = (headers: readonly string[]) =>
    submit(headers, {
      path: `/v1/transactions/${transaction}/outcomes`,
      body: '{"outcome_label":"FALSE_POSITIVE"}',
    });
  const JSON_TYPE = ['content-type', 'application/json'];
  const unique = (): string[] => ['idempotency-key', randomUUID()];

  describe('Idempotency-Key', () => {
    const base = `${randomUUID()}-`;
    const good: Record<string, string> = {
      'of 8 characters': base.slice(0, 8),
      'of 128 characters': base.padEnd(128, 'k'),
      'of every allowed character': `AZaz09._:-${base}`,
      'that is all punctuation': '.._::--..',
      'that is all digits': '20260301000017',
    };
    for (const [name, key] of Object.entries(good)) {
      it(`${name} is taken`, async () => {
        expectBody(await submit([...JSON_TYPE, 'Idempotency-Key', key]), 202, 'AcceptedIngestion');
        expectBody(
          await label([...JSON_TYPE, 'IDEMPOTENCY-KEY', key]),
          202,
          'OutcomeLabelAccepted',
        );
      });
    }

    const bad: Record<string, readonly [headers: readonly string[], problem: string]> = {
      'left out': [[], 'is required'],
      empty: [['idempotency-key', ''], 'is required'],
      'only blanks': [['idempotency-key', '   '], 'is required'],
      'of 7 characters': [['idempotency-key', 'a'.repeat(7)], KEY],
      'of 129 characters': [['idempotency-key', 'a'.repeat(129)], KEY],
      'of 5,000 characters': [['idempotency-key', 'a'.repeat(5_000)], KEY],
      'sent twice, differently': [
        ['idempotency-key', 'key-one-1', 'Idempotency-Key', 'key-two-2'],
        KEY,
      ],
      'sent twice, alike': [['idempotency-key', 'key-one-1', 'idempotency-key', 'key-one-1'], KEY],
      'holding a card number': [
        ['idempotency-key', 'k-4111111111111111'],
        'must not hold forbidden data',
      ],
      'that is a card number with dashes': [
        ['idempotency-key', '4111-1111-1111-1111'],
        'must not hold forbidden data',
      ],
      'holding an address': [
        ['idempotency-key', 'ip:203.0.113.77:x'],
        'must not hold forbidden data',
      ],
    };
    for (const character of [
      ' ',
      '/',
      '+',
      '=',
      '@',
      '#',
      ',',
      ';',
      '"',
      "'",
      '%',
      '~',
      '(',
      '\t',
      'é',
      '\u00a0',
    ]) {
      bad[`holding ${JSON.stringify(character)}`] = [
        ['idempotency-key', `order${character}12345`],
        KEY,
      ];
    }
    for (const [name, [headers, problem]] of Object.entries(bad)) {
      it(`${name} is refused by both operations that demand it`, async () => {
        const details = [`Idempotency-Key: ${problem}`];
        expectError(
          await submit([...JSON_TYPE, ...headers]),
          'CONTRACT_VALIDATION_FAILED',
          details,
        );
        expectError(await label([...JSON_TYPE, ...headers]), 'CONTRACT_VALIDATION_FAILED', details);
      });
    }

    it('blanks around it do not belong to it', async () => {
      const key = randomUUID();
      const body = JSON.stringify(eventOf());
      const first = await submit([...JSON_TYPE, 'idempotency-key', key], { body });
      const again = await submit([...JSON_TYPE, 'idempotency-key', `  ${key}\t`], { body });
      expect(again.body.ingestion_id).to.equal(first.body.ingestion_id);
      expect(again.headers.get('idempotent-replayed')).to.equal('true');
    });

    it('the operations that only read need none and ignore one', async () => {
      const read = { method: 'GET', path: '/v1/usage' };
      for (const headers of [[], ['idempotency-key', 'x']]) {
        const answer = await sendRaw(bench.service().port, {
          ...read,
          headers: [...headers, 'x-api-key', await nextKey()],
        });
        expectBody(answer, 200, 'ProductionUsage');
      }
    });
  });

  describe('Content-Type', () => {
    for (const type of [
      'application/json',
      'APPLICATION/JSON',
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
      'application/json ; charset="utf-8"',
      'application/json; profile=x',
    ]) {
      it(`${type} is taken`, async () => {
        expectBody(await submit([...unique(), 'content-type', type]), 202, 'AcceptedIngestion');
      });
    }

    const bad: Record<string, readonly string[]> = {
      'left out': [],
      empty: ['content-type', ''],
      'text/plain': ['content-type', 'text/plain'],
      'application/x-www-form-urlencoded': ['content-type', 'application/x-www-form-urlencoded'],
      'multipart/form-data': ['content-type', 'multipart/form-data; boundary=x'],
      'application/jsonp': ['content-type', 'application/jsonp'],
      'application/problem+json': ['content-type', 'application/problem+json'],
      'json in second place': ['content-type', 'text/plain, application/json'],
      'json as a parameter': ['content-type', 'text/plain; application/json'],
    };
    for (const [name, headers] of Object.entries(bad)) {
      it(`${name} is refused`, async () => {
        expectError(await submit([...unique(), ...headers]), 'CONTRACT_VALIDATION_FAILED', [
          'Content-Type: must be application/json',
        ]);
        expectError(await label([...unique(), ...headers]), 'CONTRACT_VALIDATION_FAILED', [
          'Content-Type: must be application/json',
        ]);
      });
    }

    for (const charset of ['utf-16', 'iso-8859-1', 'euc-kr', '']) {
      it(`charset "${charset}" is refused`, async () => {
        const headers = ['content-type', `application/json; charset=${charset}`];
        expectError(await submit([...unique(), ...headers]), 'CONTRACT_VALIDATION_FAILED', [
          'Content-Type: charset must be utf-8',
        ]);
      });
    }

    it('sent twice, it is refused, whichever comes first', async () => {
      for (const types of [
        ['application/json', 'text/plain'],
        ['text/plain', 'application/json'],
      ]) {
        const headers = types.flatMap((type) => ['content-type', type]);
        expectError(await submit([...unique(), ...headers]), 'CONTRACT_VALIDATION_FAILED');
      }
    });

    it('a compressed body is refused', async () => {
      for (const coding of ['gzip', 'br', 'deflate', 'gzip, identity']) {
        const headers = [...JSON_TYPE, 'content-encoding', coding];
        expectError(await submit([...unique(), ...headers]), 'CONTRACT_VALIDATION_FAILED', [
          'Content-Encoding: must be left out',
        ]);
      }
    });
  });

  describe('x-api-key', () => {
    const foreign = `trk_prod_${'a'.repeat(8)}_${'b'.repeat(43)}`;
    const bad: Record<string, readonly string[]> = {
      'left out': ['x-no-api-key', 'x'],
      empty: ['x-api-key', ''],
      'made up': ['x-api-key', foreign],
      'of another form': ['x-api-key', 'secret'],
      'very long': ['x-api-key', 'k'.repeat(8_000)],
    };
    for (const [name, headers] of Object.entries(bad)) {
      it(`${name} is 401 on every operation, whatever else is wrong`, async () => {
        for (const [method, path] of [
          ['POST', '/v1/transactions'],
          ['GET', '/v1/ingestions/x'],
          ['GET', '/v1/transactions//risk'],
          ['POST', '/v1/transactions/x/outcomes'],
          ['GET', '/v1/usage'],
        ] as const) {
          const answer = await sendRaw(bench.service().port, { method, path, headers, body: '{' });
          expectError(answer, 'UNAUTHORIZED');
        }
      });
    }

    it('in another place or spelling is 401', async () => {
      const apiKey = await nextKey();
      for (const request of [
        { path: `/v1/usage?x-api-key=${apiKey}`, headers: [] },
        { path: '/v1/usage', headers: ['authorization', `Bearer ${apiKey}`] },
        { path: '/v1/usage', headers: ['x-api-key', apiKey.toUpperCase()] },
        { path: '/v1/usage', headers: ['x-api-key', `${apiKey}x`] },
        { path: '/v1/usage', headers: ['x-api-key', apiKey.slice(0, -1)] },
        { path: '/v1/usage', headers: ['x-api-key', apiKey, 'x-api-key', apiKey] },
        { path: '/v1/usage', headers: ['x-api-key', apiKey, 'X-API-Key', foreign] },
      ]) {
        expectError(
          await sendRaw(bench.service().port, { method: 'GET', ...request }),
          'UNAUTHORIZED',
        );
      }
    });

    it('header names are spelled in any case', async () => {
      const headers = ['X-Api-KEY', await nextKey()];
      expectBody(
        await sendRaw(bench.service().port, { method: 'GET', path: '/v1/usage', headers }),
        200,
        'ProductionUsage',
      );
    });
  });

  it('x-request-id of the caller is ignored', async () => {
    const headers = [
      'x-api-key',
      await nextKey(),
      'x-request-id',
      'mine-1',
      'x-request-id',
      'mine-2',
    ];
    const answer = await sendRaw(bench.service().port, {
      method: 'GET',
      path: '/v1/usage',
      headers,
    });
    expect(answer.headers.get('x-request-id')).to.match(/^req_[0-9a-f]{32}$/);
  });

  describe('afterwards', () => {
    it('nothing that was refused is in the ledger', async () => {
      // The first event, five keys, one replayed key, six content types.
      expect(await ledgerRows(bench.service(), bench.site())).to.equal(13);
    });
  });
});
