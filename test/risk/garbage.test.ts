import { expect } from 'chai';
import { entitiesOf, entityKey } from '../../risk/entities.ts';
import { judge } from '../../risk/evaluate.ts';
import { readEvent } from '../../risk/event.ts';
import { decodeState, encodeState } from '../../risk/features/codec.ts';
import { encodeFeatures } from '../../risk/features/vector.ts';
import { simulate } from '../../risk/sandbox.ts';
import { makeBody, randomSource, START } from './events.ts';
import { History } from './history.ts';

const GARBAGE: unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  -0,
  Number.MAX_SAFE_INTEGER,
  '',
  ' ',
  'text',
  'x'.repeat(200_000),
  '\u{1F4B3}',
  'constructor',
  [],
  [[[]]],
  [1, 'two', { three: 3 }],
  {},
  { constructor: { prototype: 1 }, toString: 1, hasOwnProperty: 1, length: -1 },
  JSON.parse('{"__proto__": {"customer_id": "inherited"}, "valueOf": null}'),
];
const FIELDS: Record<string, string[]> = {
  customer: ['customer_id', 'account_age_days'],
  device: ['device_id'],
  network: ['ip_prefix', 'country'],
  order: ['shipping_country'],
  payment_method: ['issuer_country', 'bin', 'last4'],
  session: ['id'],
  velocity: ['count'],
};

/** A body whose free-form objects hold anything at all. */
function garbageBody(random: (below: number) => number) {
  const any = (): unknown => GARBAGE[random(GARBAGE.length)];
  const body: Record<string, unknown> = {
    ...makeBody({ card: 'c', amount: random(2) * Number.MAX_SAFE_INTEGER }),
  };
  for (const [object, fields] of Object.entries(FIELDS)) {
    if (random(6) === 0) continue;
    const base = object === 'payment_method' ? { type: 'CARD', token: `c${random(3)}` } : {};
    body[object] = Object.assign(base, Object.fromEntries(fields.map((field) => [field, any()])));
  }
  return body as unknown as ReturnType<typeof makeBody>;
}

describe('free-form garbage', () => {
  it('never makes reading, features, rules, absorption or the sandbox throw', () => {
    const random = randomSource(6);
    const history = new History();
    for (let i = 0; i < 1_000; i++) {
      const event = garbageBody(random);
      const at = [START, START + i, -62_135_596_800_000, 253_402_300_799_999][random(4)] ?? START;
      const read = readEvent({
        ingestionId: 'ing_1',
        event,
        merchantSubject: 'm',
        occurredAt: at,
        receivedAt: 253_402_300_799_999,
        originalKnown: null,
      });
      const features = history.featuresOf(read);
      const { risk, answers } = judge(read, features);
      expect(answers).not.to.include('ERROR');
      expect(risk.score).to.be.within(0, 100);
      expect(encodeFeatures(features)).not.to.match(/Infinity|undefined/);
      history.add(read);
      expect(simulate(event).risk_score).to.be.within(0, 100);
    }
    for (const [name, state] of history.states) {
      const kind = name.slice(0, name.indexOf('/')) as 'card';
      expect(decodeState(encodeState(state), kind)).to.deep.equal(state);
    }
  });

  it('names an entity only as a non-empty string or a safe integer of the object itself', () => {
    const kindsOf = (customer: unknown): string[] =>
      entitiesOf({ ...makeBody(), customer } as ReturnType<typeof makeBody>, 'm').map(
        ({ kind }) => kind,
      );
    expect(kindsOf({ customer_id: 'c' })).to.deep.equal(['customer', 'merchant']);
    expect(kindsOf({ customer_id: 17 })).to.deep.equal(['customer', 'merchant']);
    for (const customer_id of ['', null, 1.5, 1e308, [], ['c'], {}, true]) {
      expect(kindsOf({ customer_id })).to.deep.equal(['merchant']);
    }
    expect(kindsOf(JSON.parse('{"__proto__": {"customer_id": "c"}}'))).to.deep.equal(['merchant']);
    expect(kindsOf(Object.create({ customer_id: 'c' }))).to.deep.equal(['merchant']);
  });

  it('gives equal names one key and different kinds different keys, 32 hex digits each', () => {
    expect(entityKey('card', 'x')).to.match(/^[0-9a-f]{32}$/);
    expect(entityKey('card', 'x')).to.equal(entityKey('card', 'x'));
    expect(entityKey('card', 'x')).not.to.equal(entityKey('device', 'x'));
    const [first] = entitiesOf({ ...makeBody(), customer: { customer_id: 17 } }, 'm');
    expect(first?.key).to.equal(entityKey('customer', '17'));
  });
});
