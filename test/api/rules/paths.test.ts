import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { expectBody, expectError } from '../../support/bodies.ts';
import { eventOf } from '../../support/merchant.ts';
import { keysOf } from '../../support/keys.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { ruleBench } from '../../support/rules.ts';

const DIGITS = 'ingestionId: must be ing_ followed by digits';
const EMPTY = 'sourceEventId: must be at least 1 character long';
const TOO_LONG = 'sourceEventId: must be at most 120 characters long';

describe('rules of ids in paths (sections 4.2 to 4.4)', () => {
  const bench = ruleBench();
  let nextKey: () => Promise<string>;

  before(() => {
    nextKey = keysOf(bench.site());
  });

  const get = async (path: string) =>
    sendRaw(bench.service().port, {
      method: 'GET',
      path,
      headers: ['x-api-key', await nextKey()],
    });
  const label = async (path: string) =>
    sendRaw(bench.service().port, {
      method: 'POST',
      path,
      headers: [
        'x-api-key',
        await nextKey(),
        'idempotency-key',
        randomUUID(),
        'content-type',
        'application/json',
      ],
      body: '{"outcome_label":"FRAUD_CONFIRMED"}',
    });

  describe('ingestionId', () => {
    it('of the right form that names nothing is 404, however large', async () => {
      for (const id of ['ing_0', 'ing_00', 'ing_999999999999', `ing_${'9'.repeat(30)}`]) {
        expectError(await get(`/v1/ingestions/${id}`), 'INGESTION_NOT_FOUND');
      }
    });

    it('with a leading zero is not the ingestion without', async () => {
      const { body } = await bench.caller().submit(eventOf());
      const id = String(body.ingestion_id);
      expectBody(await get(`/v1/ingestions/${id}`), 200, 'IngestionStatus');
      expectBody(await get(`/v1/ingestions/%69ng${id.slice(3)}`), 200, 'IngestionStatus');
      expectError(await get(`/v1/ingestions/ing_0${id.slice(4)}`), 'INGESTION_NOT_FOUND');
    });

    for (const id of [
      '',
      'ing_',
      'ing',
      '17',
      'ING_17',
      'ing-17',
      'ing_-1',
      'ing_+1',
      'ing_1.0',
      'ing_1e3',
      'ing_0x1F',
      'ing_17x',
      'ing_%2017',
      'ing_17%0A',
      'ing_17%00',
      '%20ing_17',
      'ing_%EF%BC%91',
      'ing_1%2F2',
      "ing_1'--",
      'x'.repeat(4_000),
    ]) {
      it(`"${id.slice(0, 20)}" is refused`, async () => {
        const details = id.includes('%00') ? undefined : [DIGITS];
        expectError(await get(`/v1/ingestions/${id}`), 'CONTRACT_VALIDATION_FAILED', details);
      });
    }
  });

  describe('sourceEventId', () => {
    /** On both operations that take one. */
    const expectRefused = async (id: string, detail: string): Promise<void> => {
      for (const answer of [
        await get(`/v1/transactions/${id}/risk`),
        await label(`/v1/transactions/${id}/outcomes`),
      ]) {
        expectError(answer, 'CONTRACT_VALIDATION_FAILED', [detail]);
      }
    };

    it('of 1 to 120 characters that names nothing is 404', async () => {
      for (const id of ['x', 'x'.repeat(120), '%F0%9F%9B%92'.repeat(120), '%20', '..;', '%2E%2E']) {
        expectError(await get(`/v1/transactions/${id}/risk`), 'TRANSACTION_NOT_FOUND');
        expectError(await label(`/v1/transactions/${id}/outcomes`), 'TRANSACTION_NOT_FOUND');
      }
    });

    it('that is empty or too long is refused', async () => {
      await expectRefused('', EMPTY);
      await expectRefused('x'.repeat(121), TOO_LONG);
      await expectRefused('%EA%B0%80'.repeat(121), TOO_LONG);
      await expectRefused('%F0%9F%9B%92'.repeat(121), TOO_LONG);
    });

    it('with broken percent-encoding is refused', async () => {
      for (const id of ['%', '%4', '%zz', '%ff', '%C3%28', '%ED%A0%80', 'a%E0%A4b']) {
        await expectRefused(id, 'sourceEventId: has broken percent-encoding');
      }
    });

    it('with NUL or forbidden data is refused by its name', async () => {
      await expectRefused('a%00b', 'sourceEventId: must not contain NUL (U+0000)');
      const card = await get('/v1/transactions/4111111111111111/risk');
      expectError(card, 'CONTRACT_VALIDATION_FAILED');
      expect(card.body.error.details).to.have.length(1);
      expect(card.body.error.details[0]).to.match(/^sourceEventId: must not /);
      const address = await label('/v1/transactions/ip-203.0.113.77/outcomes');
      expectError(address, 'CONTRACT_VALIDATION_FAILED');
      expect(address.body.error.details[0]).to.match(/^sourceEventId: must not /);
    });

    it('is found again whatever characters it has, and only exactly', async () => {
      for (const id of [
        'a/b',
        'a b',
        'a%2Fb',
        'a?b#c',
        '주문-17',
        '🛒',
        '..',
        'é',
        'a+b',
        "'; drop table ingestion; --",
        ' lead',
        '\u200b',
        'constructor',
        '%',
      ]) {
        const accepted = await bench.caller().submit(eventOf({ source_event_id: id }));
        expectBody(accepted, 202, 'AcceptedIngestion');
        expect(accepted.body.source_event_id).to.equal(id);
        const path = `/v1/transactions/${encodeURIComponent(id).replaceAll('.', '%2E')}`;
        const risk = await get(`${path}/risk`);
        expectBody(risk, 200, 'TransactionRiskStatus');
        expect(risk.body.source_event_id).to.equal(id);
        expect(risk.body.ingestion_id).to.equal(accepted.body.ingestion_id);
        expectBody(await label(`${path}/outcomes`), 202, 'OutcomeLabelAccepted');
      }
      // Composed and decomposed, and other cases, are other ids.
      for (const id of ['e\u0301', 'CONSTRUCTOR', 'lead', 'lead ']) {
        expectError(
          await get(`/v1/transactions/${encodeURIComponent(id)}/risk`),
          'TRANSACTION_NOT_FOUND',
        );
      }
    });
  });

  it('paths are matched exactly', async () => {
    for (const path of [
      '/',
      '/v1',
      '/v1/',
      '/V1/usage',
      '/v1/Usage',
      '/v1/usage/',
      '/v1//usage',
      '/v1/usage%2F',
      '/v1/%75sage',
      '/v1/./usage',
      '/v2/usage',
      '/v1/transactions/x/risk/',
      '/v1/transactions/x/y/risk',
      '/v1/transactions/x',
      '/v1/ingestions',
      '/v1/ingestions/ing_1/2',
      '/v1/submitTransaction',
      '/v1/__proto__',
      '/v1/%00',
      '/v1/%ff',
    ]) {
      if (path !== '/') expectError(await get(path), 'NOT_FOUND');
    }
  });

  it('a query string changes nothing', async () => {
    expectBody(await get('/v1/usage?'), 200, 'ProductionUsage');
    expectBody(await get('/v1/usage?site=other&__proto__[x]=1&%ff=%'), 200, 'ProductionUsage');
  });

  it('another method of a known path is 405 and named with those there are', async () => {
    const methods: Record<string, string> = {
      '/v1/transactions': 'POST',
      '/v1/ingestions/ing_1': 'GET, HEAD',
      '/v1/transactions/x/risk': 'GET, HEAD',
      '/v1/transactions/x/outcomes': 'POST',
      '/v1/usage': 'GET, HEAD',
    };
    for (const [path, allow] of Object.entries(methods)) {
      for (const method of [
        'GET',
        'POST',
        'PUT',
        'PATCH',
        'DELETE',
        'OPTIONS',
        'TRACE',
        'PROPFIND',
      ]) {
        if (allow.includes(method)) continue;
        const answer = await sendRaw(bench.service().port, { method, path, headers: [] });
        expectError(answer, 'METHOD_NOT_ALLOWED');
        expect(answer.headers.get('allow')).to.equal(allow);
      }
    }
  });

  it('HEAD answers like GET, without the body', async () => {
    const head = async (path: string, headers: string[]) =>
      sendRaw(bench.service().port, { method: 'HEAD', path, headers });
    const key = ['x-api-key', await nextKey()];
    for (const [path, headers, status] of [
      ['/v1/usage', key, 200],
      ['/v1/usage', [], 401],
      ['/v1/ingestions/ing_0', key, 404],
      ['/v1/ingestions/x', key, 400],
      ['/v1/transactions', [], 405],
      ['/v1/nothing', [], 404],
    ] as const) {
      const answer = await head(path, [...headers]);
      expect(answer.status, path).to.equal(status);
      expect(answer.body).to.equal(undefined);
      expect(answer.headers.get('x-request-id')).to.match(/^req_/);
      expect(Number(answer.headers.get('content-length'))).to.be.above(40);
    }
  });
});
