import { expect } from 'chai';
import { Risk } from '../../contract/risk.ts';
import { bandOf, combinePoints } from '../../risk/decision.ts';
import { judge } from '../../risk/evaluate.ts';
import { computeFeatures } from '../../risk/features/compute.ts';
import { FEATURES } from '../../risk/features/definitions.ts';
import {
  absentFeatures,
  decodeFeatures,
  decodeFeaturesInto,
  encodeFeatures,
  featureValue,
} from '../../risk/features/vector.ts';
import { compileRuleSet } from '../../risk/rules/compile.ts';
import { DEFAULT_RULE_SET } from '../../risk/rules/default-rules.ts';
import { make, randomSource, START } from './events.ts';
import { History } from './history.ts';

describe('the score', () => {
  it('falls into the bands of the contract at every edge', () => {
    const edges = [0, 29, 30, 59, 60, 84, 85, 100].map((score) => Object.values(bandOf(score)));
    expect(edges).to.deep.equal([
      ['low', 'ALLOW'],
      ['low', 'ALLOW'],
      ['medium', 'REVIEW'],
      ['medium', 'REVIEW'],
      ['high', 'HOLD_RECOMMENDED'],
      ['high', 'HOLD_RECOMMENDED'],
      ['critical', 'BLOCK_RECOMMENDED'],
      ['critical', 'BLOCK_RECOMMENDED'],
    ]);
  });

  it('is an integer from 0 to 100 that grows with every hit and does not depend on their order', () => {
    const random = randomSource(2);
    for (let i = 0; i < 500; i++) {
      const points = Array.from({ length: random(12) }, () => 1 + random(100));
      const score = combinePoints(points);
      expect(score).to.be.within(0, 100);
      expect(Number.isInteger(score)).to.equal(true);
      expect(combinePoints(points.toReversed())).to.equal(score);
      expect(combinePoints([...points, 1])).to.be.at.least(score);
    }
    expect(combinePoints([])).to.equal(0);
    expect(combinePoints([40])).to.equal(40);
    expect(combinePoints([100, 1])).to.equal(100);
  });
});

describe('a judgement', () => {
  it('is the same again from the stored features, with rules compiled anew', () => {
    const history = new History();
    const anew = compileRuleSet(DEFAULT_RULE_SET);
    const random = randomSource(4);
    for (let i = 0; i < 400; i++) {
      const event = make({
        at: START + i * 50_000,
        card: `c${random(6)}`,
        customer: `u${random(6)}`,
        device: `d${random(3)}`,
        ipPrefix: `i${random(2)}`,
        amount: random(500_000),
        status: random(3) === 0 ? 'DECLINED' : 'APPROVED',
        crossBorder: random(5) === 0,
      });
      const features = history.featuresOf(event);
      const stored = decodeFeatures(encodeFeatures(features));
      expect(stored).to.deep.equal(features);
      const judgement = judge(event, features);
      expect(judge(event, stored, anew)).to.deep.equal(judgement);
      const evaluated = { ...judgement.risk, evaluated_at: '2026-03-01T00:00:00Z' };
      expect(Risk.safeParse(evaluated).success).to.equal(true);
      history.add(event);
    }
  });

  it('gives its reasons by points, most important first', () => {
    const history = new History();
    for (let i = 0; i < 30; i++) {
      history.add(
        make({ at: START + i * 1000, card: `c${i % 9}`, device: 'd', status: 'DECLINED' }),
      );
    }
    const event = make({ at: START + 60_000, card: 'c1', device: 'd', crossBorder: true });
    const { risk } = judge(event, history.featuresOf(event));
    const points = Object.values(risk.rule_scores);
    expect(points.length).to.be.greaterThan(3);
    expect(points).to.deep.equal(points.toSorted((a, b) => b - a));
    expect(risk.reasons).to.have.length(points.length);
    expect(risk.reasons[0]).to.contain('different cards on this device within 1 hour');
  });

  it('names code, rule set with its content, and model in its version', () => {
    const event = make();
    const { evaluator_version } = judge(event, absentFeatures()).risk;
    expect(evaluator_version).to.match(/^1\.1\.0\+rules\.default-2\.[0-9a-f]{8}\+model\.none$/);
  });

  it('counts the labels of an entity', () => {
    const event = make({ card: 'c', customer: 'u' });
    const features = computeFeatures(
      event,
      () => undefined,
      ({ kind }) =>
        kind === 'card'
          ? { fraudConfirmed: 2, chargebackConfirmed: 1, falsePositive: 0, days: [] }
          : undefined,
    );
    expect(featureValue(features, 'card_fraud_confirmed')).to.equal(2);
    expect(featureValue(features, 'customer_fraud_confirmed')).to.equal(0);
    expect(featureValue(features, 'device_fraud_confirmed')).to.equal(undefined);
    const { risk } = judge(event, features);
    expect(risk.decision).to.equal('BLOCK_RECOMMENDED');
    expect(risk.reasons[0]).to.equal('This card has 2 confirmed frauds (threshold 1).');
  });
});

describe('stored features', () => {
  it('that are damaged or of another version are refused', () => {
    const text = encodeFeatures(absentFeatures());
    for (const damaged of [
      '',
      '2:',
      `${text},1`,
      text.slice(0, -1),
      text.replace('2:', '1:'),
      text.replace('n', ''),
      `2:.,n${FEATURES.length - 1}`,
      `2:1.2.3,n${FEATURES.length - 1}`,
      `2:,n${FEATURES.length - 1}`,
      `2:n0,n${FEATURES.length}`,
      `2:n-1,n${FEATURES.length + 1}`,
      `2:n1.5,n${FEATURES.length - 1}`,
      '2:x',
    ]) {
      expect(() => decodeFeatures(damaged), damaged).to.throw(RangeError);
    }
  });

  it('come back to the last bit, whatever numbers they are, into a row that held others', () => {
    const random = randomSource(9);
    const bits = new DataView(new ArrayBuffer(8));
    const anything = (): number => {
      bits.setUint32(0, random(2 ** 32));
      bits.setUint32(4, random(2 ** 32));
      return bits.getFloat64(0);
    };
    const kinds: (() => number)[] = [
      () => 0,
      () => Number.NaN,
      () => random(1_000),
      () => random(100_000) / 100,
      () => random(2 ** 32) / (1 + random(1_000)),
      () => (-1 - random(2 ** 32)) / 7,
      () => random(2 ** 32) * random(2 ** 32),
      () => (1 + random(2 ** 32)) * 10 ** (random(40) - 30),
      () => Number.MAX_SAFE_INTEGER - random(3) + 2,
      anything,
    ];
    const row = new Float64Array(FEATURES.length).fill(5);
    for (let round = 0; round < 300; round++) {
      const features = absentFeatures();
      let at = 0;
      while (at < features.values.length) {
        const value = (kinds[random(kinds.length)] as () => number)();
        const end = Math.min(features.values.length, at + 1 + random(4));
        features.values.fill(Number.isFinite(value) ? value : Number.NaN, at, end);
        at = end;
      }
      const text = encodeFeatures(features);
      expect(decodeFeatures(text).values).to.deep.equal(features.values);
      decodeFeaturesInto(text, row);
      expect([...row]).to.deep.equal(features.values);
    }
  });

  it('are not asked for by a misspelt name', () => {
    expect(() => featureValue(absentFeatures(), 'card_atempts_1h')).to.throw(RangeError);
  });
});
