import { expect } from 'chai';
import { ENTITY_KINDS, type EntityKind } from '../../risk/entities.ts';
import type { RiskEvent } from '../../risk/event.ts';
import { absorb } from '../../risk/features/absorb.ts';
import { decodeState, encodeState } from '../../risk/features/codec.ts';
import type { EntityState } from '../../risk/features/state.ts';
import { featureValue } from '../../risk/features/vector.ts';
import { make, randomSource, START } from './events.ts';
import { History } from './history.ts';

const DAY = 86_400_000;

describe('the state of an entity', () => {
  it('comes back from its text to the last bit, of every kind', () => {
    const events = busyStream(400, 7);
    for (const kind of ENTITY_KINDS) {
      const state = absorbAll(events, kind);
      expect(decodeState(encodeState(state), kind), kind).to.deep.equal(state);
    }
  });

  it('goes on from its text as if it had never been written', () => {
    const events = busyStream(300, 11);
    for (const kind of ENTITY_KINDS) {
      let reloaded: EntityState | undefined;
      for (const event of events) {
        reloaded = absorb(reloaded && decodeState(encodeState(reloaded), kind), event, kind);
      }
      expect(encodeState(reloaded as EntityState)).to.equal(encodeState(absorbAll(events, kind)));
    }
  });

  it('is the same for the same events in any order', () => {
    const random = randomSource(3);
    // Within the seven days that the largest buckets are kept for late events.
    const events = busyStream(300, 5).filter(({ at }) => at < START + 7 * DAY);
    for (const kind of ENTITY_KINDS) {
      const inOrder = encodeState(absorbAll(events, kind));
      const shuffled = events.toSorted(() => random(2) - 0.5);
      expect(encodeState(absorbAll(shuffled, kind)), kind).to.equal(inOrder);
    }
  });

  it('stays small however many events: 6,000 characters for a shop, 9,000 for anything, 12,000 with many currencies', () => {
    for (const kind of ENTITY_KINDS) {
      const limit = kind === 'merchant' ? 6_000 : 9_000;
      expect(longestText(kind, 10_000, ['KRW'], 1_000_000), kind).to.be.below(limit);
    }
    const many = ['KRW', 'USD', 'JPY', 'EUR', 'CNY'];
    expect(longestText('merchant', 40_000, many, 50_000_000)).to.be.below(12_000);
  }).timeout(20_000);

  it('of another version or kind is refused instead of guessed', () => {
    const text = encodeState(absorbAll([make({ card: 'c' })], 'card'));
    expect(() => decodeState(text.replace('[2,', '[1,'), 'card')).to.throw(RangeError, 'version 2');
    expect(() => decodeState(text, 'merchant')).to.throw(RangeError, 'merchant');
    expect(() => decodeState('{}', 'card')).to.throw(RangeError);
    expect(() => decodeState('', 'card')).to.throw(SyntaxError);
  });

  it('holds no text of the events', () => {
    const event = make({ card: 'canary-card', customer: 'canary-c', device: 'canary-d' });
    for (const { kind } of event.entities) {
      expect(encodeState(absorb(undefined, event, kind))).not.to.contain('canary');
    }
  });

  it('counts a hundred counterparts, and any more as a hundred', () => {
    const history = new History();
    const count = (at: number): number | undefined =>
      featureValue(history.featuresOf(make({ at, device: 'd', card: 'x' })), 'device_cards_1h');
    for (let i = 0; i < 99; i++) history.add(make({ at: START + i, device: 'd', card: `c${i}` }));
    expect(count(START + 1000)).to.equal(99);
    for (let i = 99; i < 250; i++) history.add(make({ at: START + i, device: 'd', card: `c${i}` }));
    expect(count(START + 1000)).to.equal(100);
  });

  it('keeps a profile against older ones, and counts none as an attempt', () => {
    const history = new History();
    const profile = { eventType: 'PROFILE_UPSERT', customer: 'u' } as const;
    const ageOf = (at: number): number | undefined =>
      featureValue(history.featuresOf(make({ at, customer: 'u' })), 'account_age_days');
    history.add(make({ ...profile, at: START, profileVersion: 2, accountAgeDays: 10 }));
    history.add(make({ ...profile, at: START + 5, profileVersion: 1, accountAgeDays: 99 }));
    expect(ageOf(START + 2 * DAY)).to.equal(12);
    history.add(make({ ...profile, at: START - DAY, profileVersion: 3, accountAgeDays: 0 }));
    expect(ageOf(START + 2 * DAY)).to.equal(3);
    const features = history.featuresOf(make({ at: START + 2 * DAY, customer: 'u' }));
    expect(featureValue(features, 'customer_attempts_total')).to.equal(0);
    expect(featureValue(features, 'customer_attempts_30d')).to.equal(0);
    expect(featureValue(features, 'customer_known')).to.equal(1);
  });

  it('survives an event dated in the far future: it counts when it was received', () => {
    const history = new History();
    history.add(make({ at: START, card: 'c' }));
    history.add(make({ at: START + 3000 * 365 * DAY, receivedAt: START + 10, card: 'c' }));
    const features = history.featuresOf(make({ at: START + 20, card: 'c' }));
    expect(featureValue(features, 'card_attempts_1m')).to.equal(2);
  });
});

function longestText(
  kind: EntityKind,
  length: number,
  currencies: string[],
  largest: number,
): number {
  const random = randomSource(9);
  let state: EntityState | undefined;
  let longest = 0;
  for (let i = 0; i < length; i++) {
    const event = make({
      at: START + Math.floor((i * 46 * DAY) / length),
      card: `c${random(5_000)}`,
      customer: `u${random(5_000)}`,
      device: `d${random(5_000)}`,
      ipPrefix: `i${random(5_000)}`,
      merchant: `m${random(5_000)}`,
      amount: random(largest),
      currency: currencies[random(currencies.length)] ?? 'KRW',
      status: random(5) === 0 ? 'DECLINED' : 'APPROVED',
      eventType: random(20) === 0 ? 'PAYMENT_REFUND' : 'PAYMENT_AUTH',
    });
    state = absorb(state, event, kind);
    if (i % 2_000 === 1_999) longest = Math.max(longest, encodeState(state).length);
  }
  return longest;
}

function absorbAll(events: readonly RiskEvent[], kind: EntityKind): EntityState {
  let state: EntityState | undefined;
  for (const event of events) state = absorb(state, event, kind);
  return state as EntityState;
}

function busyStream(length: number, seed: number): RiskEvent[] {
  const random = randomSource(seed);
  return Array.from({ length }, () =>
    make({
      at: START + random(40 * DAY),
      card: `c${random(20)}`,
      customer: `u${random(20)}`,
      device: `d${random(20)}`,
      ipPrefix: `i${random(20)}`,
      merchant: `m${random(20)}`,
      amount: random(Number.MAX_SAFE_INTEGER),
      currency: ['KRW', 'USD'][random(2)] ?? 'KRW',
      status: (['APPROVED', 'DECLINED', 'PENDING'] as const)[random(3)] ?? 'APPROVED',
      eventType: (['PAYMENT_AUTH', 'PAYMENT_AUTH', 'PAYMENT_REFUND', 'PROFILE_UPSERT'] as const)[
        random(4)
      ] as 'PAYMENT_AUTH',
    }),
  );
}
