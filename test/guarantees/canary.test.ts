import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { findForbidden } from '../../contract/forbidden-data.ts';
import { issueKeys } from '../support/keys.ts';
import { eventOf, type Answer } from '../support/merchant.ts';
import { sendRaw } from '../support/raw-http.ts';
import { say } from '../support/raw-socket.ts';
import { ADMIN_TOKEN, runService, type RunningService } from '../support/running-service.ts';
import { everyRow, findTraces } from '../support/traces.ts';

/** A test card number that occurs nowhere else, and its dresses. */
const CARD = '4539148803436467';
const wide = (text: string): string =>
  text.replaceAll(/\d/g, (digit) => String.fromCharCode(digit.charCodeAt(0) + 0xfee0));

/** What must not be sent: as a value, and where the value alone says nothing, under its name. */
const FORBIDDEN: Record<string, { readonly value: unknown; readonly name?: string }> = {
  'card number': { value: CARD },
  'card number in groups': { value: '4539 1488 0343 6467' },
  'card number with dashes': { value: '4539-1488-0343-6467' },
  'card number in a note': { value: `paid with ${CARD}, thanks` },
  'card number, wide digits': { value: wide(CARD) },
  'card number as a number': { value: Number(CARD) },
  'track data': { value: `;${CARD}=30121010000012345678?` },
  'security code': { value: 'cvv-canary-739', name: 'cvc' },
  password: { value: 'hunter2-canary', name: 'password' },
  'account number': { value: '110-487-739184', name: 'account_number' },
  iban: { value: 'DE89370400440532013000' },
  'IPv4 address': { value: '198.51.100.177' },
  'IPv6 address': { value: '2001:db8:77::c0de:1' },
};

/** What no place may hold; parts are enough to notice a cut or masked copy. */
const MARKS = [
  '453914880343',
  '914880343646',
  'cvv-canary',
  'hunter2-canary',
  '110-487-7391',
  '110487739184',
  '370400440532',
  '198.51.100.177',
  '198.51.100.177'.replaceAll('.', ''),
  'db8:77::c0de',
];

describe('what must not be sent leaves no trace', () => {
  let service: RunningService;
  let keys: string[];
  let turn = 0;
  const answers = new Map<string, string>();

  const note = (place: string, { status, headers, body }: Answer): void => {
    const all = JSON.stringify([status, [...headers], body]);
    answers.set('answers', `${answers.get('answers') ?? ''}\n${place} ${all}`);
  };
  const nextKey = (): string => keys[turn++ % keys.length] ?? '';

  before(async () => {
    service = await runService();
    keys = await issueKeys(service.database, await service.createSite(), 1_000);
  });

  after(() => service.stop());

  const post = async (place: string, path: string, body: string, more: readonly string[] = []) => {
    const key = more.includes('idempotency-key') ? [] : ['idempotency-key', randomUUID()];
    const headers = ['x-api-key', nextKey(), 'content-type', 'application/json', ...key, ...more];
    const answer = await sendRaw(service.port, { method: 'POST', path, headers, body });
    note(place, answer);
    return answer;
  };
  const get = async (place: string, path: string, more: readonly string[] = []) => {
    const headers = ['x-api-key', nextKey(), ...more];
    const answer = await sendRaw(service.port, { method: 'GET', path, headers });
    note(place, answer);
    return answer;
  };

  it('the dresses are forbidden, and the search finds them', () => {
    for (const [dress, { value, name }] of Object.entries(FORBIDDEN)) {
      expect(findForbidden({ [name ?? 'x']: value }), dress).to.have.length(1);
      const traces = findTraces(new Map([['here', `…${String(value)}…`]]), MARKS);
      expect(traces, dress).to.not.deep.equal([]);
    }
  });

  it('in any field, at any depth, as a value or a key: 400', async () => {
    for (const [dress, { value, name }] of Object.entries(FORBIDDEN)) {
      const held = name === undefined ? value : { [name]: value };
      const places: Record<string, unknown>[] = [
        { order: { note: held } },
        { customer: { a: [{ b: { c: [held] } }] } },
        { payment_method: { type: 'CARD', token: 't', extra: held } },
        { velocity: { [name ?? 'x']: value } },
        { undeclared: held },
        { transaction: { undeclared: held } },
      ];
      if (typeof value === 'string' && name === undefined) {
        places.push(
          { order: { [value]: 1 } },
          { device: { deep: [{ [value]: { x: 1 } }] } },
          { [value]: true },
          { source_system: value },
          { correlation_id: value },
          { merchant_external_id: value },
          { schema_version: value },
          { event_type: value },
          { occurred_at: value },
          { source_event_id: value },
          { payment_method: { type: 'CARD', token: value } },
          { payment_method: { type: value, token: 't' } },
          ...[
            'tid',
            'original_event_id',
            'auth_no_token',
            'response_code',
            'reason_code',
            'currency',
          ].map((field) => ({ transaction: { [field]: value } })),
          { transaction: { amount_minor: value } },
        );
      }
      for (const place of places) {
        const answer = await post(dress, '/v1/transactions', JSON.stringify(eventOf(place)));
        expect(answer.status, `${dress} ${JSON.stringify(place)}`).to.equal(400);
        expect(answer.body.error.code).to.equal('CONTRACT_VALIDATION_FAILED');
      }
      await post(dress, '/v1/transactions', JSON.stringify(value));
      await post(dress, '/v1/transactions', JSON.stringify([value]));
      // Broken JSON and other types, whose text a parser's message would quote.
      const text = JSON.stringify(eventOf({ order: { note: held } }));
      await post(dress, '/v1/transactions', text.slice(0, -1));
      await post(dress, '/v1/transactions', text.replace('{', `{${String(value)}:`));
      await post(dress, '/v1/transactions', String(value));
      const labelled = { outcome_label: value, [name ?? 'note']: value };
      const label = await post(dress, '/v1/transactions/x/outcomes', JSON.stringify(labelled));
      expect(label.status).to.equal(400);
    }
  });

  it('in headers, paths, queries and what is not HTTP: nowhere kept', async () => {
    const event = JSON.stringify(eventOf());
    for (const [dress, { value }] of Object.entries(FORBIDDEN)) {
      const text = String(value);
      const encoded = encodeURIComponent(text);
      const plain = /^[\x20-\x7e]+$/.test(text) ? text : encoded;
      await post(dress, '/v1/transactions', event, ['idempotency-key', plain]);
      await post(dress, '/v1/transactions', event, ['idempotency-key', `k:${plain}`]);
      for (const path of [
        `/v1/transactions/${encoded}/risk`,
        `/v1/ingestions/${encoded}`,
        `/v1/ingestions/ing_${encoded}`,
        `/v1/usage?card=${encoded}&${encoded}=1`,
        `/v1/${encoded}`,
        `/${encoded}`,
        `/admin/trpc/${encoded}`,
        `/docs?${encoded}`,
      ]) {
        await get(dress, path);
      }
      await post(
        dress,
        `/v1/transactions/${encoded}/outcomes`,
        '{"outcome_label":"FALSE_POSITIVE"}',
      );
      for (const header of [
        'user-agent',
        'x-request-id',
        'referer',
        'x-forwarded-for',
        'cookie',
        'authorization',
        'accept',
        plain.replaceAll(/[^\w-]/g, ''),
      ]) {
        await get(dress, '/v1/usage', [header, plain]);
      }
      await sendRaw(service.port, {
        method: 'GET',
        path: '/v1/usage',
        headers: ['x-api-key', plain],
      }).then((answer) => note(dress, answer));
      await post(dress, '/v1/transactions', event, ['content-encoding', plain]);
      for (const bytes of [
        `${plain}\r\n\r\n`,
        `GET / HTTP/${plain}\r\n\r\n`,
        `GET / HTTP/1.1\r\n${plain}\r\n\r\n`,
      ]) {
        for (const answer of await say(service.port, bytes)) note(dress, answer);
      }
    }
  });

  it('in administrative calls: nowhere kept', async () => {
    const admin = async (path: string, input: unknown) => {
      const response = await fetch(`${service.url}/admin/trpc/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify(input),
      });
      answers.set('admin', `${answers.get('admin') ?? ''}\n${await response.text()}`);
      return response.status;
    };
    for (const { value, name } of Object.values(FORBIDDEN)) {
      if (name !== undefined) continue;
      const site = {
        code: 'canary',
        name: `Shop ${String(value)}`,
        customer_type: 'SINGLE_COMPANY',
      };
      expect(await admin('sites.create', site), String(value)).to.equal(400);
      await admin('sites.get', { site_code: String(value) });
      await admin('credentials.issue', {
        site_code: 'site-1',
        environment: 'production',
        label: String(value),
      });
    }
  });

  it('no answer, table, queue, log line or metric holds any of it', async () => {
    const metrics = await fetch(`${service.url}/metrics`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    expect(metrics.status).to.equal(200);
    const rows = await everyRow(service.database);
    expect([...rows.keys()]).to.include.members(['ingestion', 'audit_entry', 'pgboss.job']);
    const texts = new Map([
      ...rows,
      ...answers,
      ['log', service.logLines.join('')],
      ['metrics', await metrics.text()],
    ]);
    expect(service.logLines.length).to.be.above(100);
    expect(findTraces(texts, MARKS)).to.deep.equal([]);
  });
});
