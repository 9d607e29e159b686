import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { expectBody, expectError } from '../../support/bodies.ts';
import { eventOf, merchant, type Answer } from '../../support/merchant.ts';
import { ledgerRows } from '../../support/ledger-counts.ts';
import { ruleBench } from '../../support/rules.ts';

/** Another writing of the same JSON value. */
const SAME: Record<string, (text: string) => string> = {
  'byte for byte': (text) => text,
  'with another key order': (text) => JSON.stringify(reversed(JSON.parse(text))),
  'with white space': (text) => JSON.stringify(JSON.parse(text), null, '\t'),
  'with 129000.0 for 129000': (text) => text.replace('129000', '129000.0'),
  'with 1.29e5 for 129000': (text) => text.replace('129000', '1.29E+5'),
  'with -0 for 0': (text) => text.replace('"installment_months":0', '"installment_months":-0'),
  'with 0.10 for 0.1': (text) => text.replace('0.1', '0.100'),
  'with escapes': (text) =>
    text.replace('KRW', '\\u004bR\\u0057').replace('"order"', '"\\u006frder"'),
  'with escaped slashes': (text) => text.replace('a/b', 'a\\/b'),
  'with characters for escapes': (text) => text.replace('\\n', '\\u000A').replace('é', '\\u00e9'),
  'with a surrogate pair for a character': (text) => text.replace('🛒', '\\ud83d\\uded2'),
  'with the last of two equal keys': (text) => text.replace('{', '{"source_system":"other",'),
};

/** Another value, however small the difference. */
const OTHER: Record<string, (text: string) => string> = {
  'another amount': (text) => text.replace('129000', '129001'),
  'another sent_at': (text) => text.replace('09:00:01+09:00', '09:00:02+09:00'),
  'the same instant, written otherwise': (text) =>
    text.replace('2026-03-01T09:00:01+09:00', '2026-03-01T00:00:01Z'),
  'a further optional field': (text) => text.replace('"order"', '"correlation_id":"","order"'),
  'one less optional field': (text) => text.replace(/,"customer":.*"y":1\}/, ''),
  'another order of an array': (text) => text.replace('[1,2]', '[2,1]'),
  'a number for its text': (text) => text.replace('"qty":"3"', '"qty":3'),
  'null for a missing property': (text) => text.replace('"order":{', '"order":{"gift":null,'),
  'an empty object more': (text) => text.replace('"order"', '"session":{},"order"'),
  'a blank more': (text) => text.replace('"shop"', '"shop "'),
  'another case': (text) => text.replace('"shop"', '"Shop"'),
  'a decomposed character': (text) => text.replace('é', 'e\u0301'),
  'a fraction in a free-form number': (text) => text.replace('0.1', '0.10000000000000002'),
  'a nested key of another name': (text) => text.replace('"deep":', '"deeper":'),
  'false for true': (text) => text.replace('true', 'false'),
};

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, inner]) => [key, reversed(inner)]),
  );
}

describe('what counts as the identical payload (section 4.1)', () => {
  const bench = ruleBench();
  let text: string;
  let key: string;
  let first: Answer;

  before(async () => {
    key = randomUUID();
    text = JSON.stringify(
      eventOf({
        order: { items: [1, 2], rate: 0.1, note: 'café\n', url: 'a/b', qty: '3', gift_wrap: true },
        customer: { x: { deep: '🛒' }, y: 1 },
      }),
    );
    first = await bench.caller().submit(text, key);
    expectBody(first, 202, 'AcceptedIngestion');
  });

  for (const [name, written] of Object.entries(SAME)) {
    it(`the event ${name} is the same`, async () => {
      const again = written(text);
      if (name !== 'byte for byte') expect(again).to.not.equal(text);
      for (const use of [key, randomUUID()]) {
        const replay = await bench.caller().submit(again, use);
        expectBody(replay, 202, 'AcceptedIngestion');
        expect(replay.headers.get('idempotent-replayed')).to.equal('true');
        expect({ ...replay.body, request_id: '' }).to.deep.equal({ ...first.body, request_id: '' });
      }
    });
  }

  for (const [name, changed] of Object.entries(OTHER)) {
    it(`${name} is a conflict, under the key and under the id`, async () => {
      const other = changed(text);
      expect(other).to.not.equal(text);
      expectError(await bench.caller().submit(other, key), 'IDEMPOTENCY_CONFLICT');
      expectError(await bench.caller().submit(other), 'IDEMPOTENCY_CONFLICT');
    });
  }

  it('another event under the key is a conflict, and leaves its id free', async () => {
    const event = eventOf();
    expectError(await bench.caller().submit(event, key), 'IDEMPOTENCY_CONFLICT');
    expectBody(await bench.caller().submit(event), 202, 'AcceptedIngestion');
  });

  it('a refusal is not remembered: its key takes another event', async () => {
    const used = randomUUID();
    expectError(await bench.caller().submit('{', used), 'CONTRACT_VALIDATION_FAILED');
    expectError(
      await bench.caller().submit(text.replace('129000', '1'), used),
      'IDEMPOTENCY_CONFLICT',
    );
    expectBody(await bench.caller().submit(eventOf(), used), 202, 'AcceptedIngestion');
  });

  it('keys differ in case', async () => {
    const lower = `key-${randomUUID()}`;
    expectBody(await bench.caller().submit(eventOf(), lower), 202, 'AcceptedIngestion');
    expectBody(
      await bench.caller().submit(eventOf(), lower.toUpperCase()),
      202,
      'AcceptedIngestion',
    );
  });

  it('a tid that is the id of another event is a conflict', async () => {
    const id = String(first.body.source_event_id);
    const event = eventOf({ transaction: { tid: id } });
    expectError(await bench.caller().submit(event), 'IDEMPOTENCY_CONFLICT');
  });

  it('outcomes: writing does not matter, the label and the transaction do', async () => {
    const [one, two] = [eventOf(), eventOf()];
    for (const event of [one, two]) {
      expectBody(await bench.caller().submit(event), 202, 'AcceptedIngestion');
    }
    const [oneId, twoId] = [String(one['source_event_id']), String(two['source_event_id'])];
    const used = randomUUID();
    const label = (id: string, body: string) => bench.caller().label(id, body, used);
    expectBody(
      await label(oneId, '{"outcome_label":"FALSE_POSITIVE"}'),
      202,
      'OutcomeLabelAccepted',
    );
    for (const body of [
      ' { "outcome_label" : "FALSE_POSITIVE" } ',
      '{"outcome_label":"F\\u0041LSE_POSITIVE"}',
      '{"outcome\\u005flabel":"FALSE_POSITIVE"}',
    ]) {
      const replay = await label(oneId, body);
      expectBody(replay, 202, 'OutcomeLabelAccepted');
      expect(replay.headers.get('idempotent-replayed')).to.equal('true');
    }
    expectError(await label(oneId, '{"outcome_label":"FRAUD_CONFIRMED"}'), 'IDEMPOTENCY_CONFLICT');
    expectError(await label(twoId, '{"outcome_label":"FALSE_POSITIVE"}'), 'IDEMPOTENCY_CONFLICT');
  });

  it('a key of one operation is free for the other', async () => {
    const id = String(first.body.source_event_id);
    expectBody(
      await bench.caller().label(id, { outcome_label: 'FRAUD_CONFIRMED' }, key),
      202,
      'OutcomeLabelAccepted',
    );
  });

  it('a key of one Site is free for another', async () => {
    const other = await bench.service().createSite();
    const stranger = merchant(bench.service().url, (await other.issue()).apiKey);
    const answer = await stranger.submit(text.replace('129000', '1'), key);
    expectBody(answer, 202, 'AcceptedIngestion');
    expect(answer.body.ingestion_id).to.not.equal(first.body.ingestion_id);
  });

  it('all this has left one row for each accepted event', async () => {
    // The first, one after the conflict, one after the refusals, two keys, two for outcomes.
    expect(await ledgerRows(bench.service(), bench.site())).to.equal(7);
  });
});
