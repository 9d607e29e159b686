import { expect } from 'chai';
import { evaluatorVersion, judge, NO_INDICATOR } from '../../risk/evaluate.ts';
import { FEATURES } from '../../risk/features/definitions.ts';
import { DEFAULT_RULE_SET, DEFAULT_RULES } from '../../risk/rules/default-rules.ts';
import { factsOfCase, featuresOfCase, runCases } from '../../risk/rules/run-cases.ts';
import { make, START } from './events.ts';
import { History } from './history.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

describe('the default rules', () => {
  it('all compile', () => {
    expect(DEFAULT_RULES.problems).to.deep.equal([]);
  });

  it('answer every case beside them as it says', () => {
    expect(runCases(DEFAULT_RULE_SET)).to.deep.equal([]);
  });

  for (const rule of DEFAULT_RULE_SET.rules) {
    it(`${rule.id} has a case that hits and one that does not`, () => {
      const answers = (rule.cases ?? []).map(({ answer }) => answer);
      expect(answers).to.include('HIT');
      expect(answers).to.include('NO_HIT');
    });
  }

  it('give sentences without a placeholder left, and without the amount', () => {
    for (const [index, rule] of DEFAULT_RULE_SET.rules.entries()) {
      const example = rule.cases?.find(({ answer }) => answer === 'HIT');
      if (example === undefined) continue;
      const facts = factsOfCase({
        ...example,
        event: { amount_minor: 48_151_623, ...example.event },
      });
      const only = DEFAULT_RULES.rules[index];
      const { risk } = judge({ facts }, featuresOfCase(example), {
        ...DEFAULT_RULES,
        rules: only === undefined ? [] : [only],
      });
      expect(risk.reasons, rule.id).to.have.length(1);
      expect(risk.reasons[0]).to.match(/^[A-Z0-9{][^{}]+\.$/);
      expect(risk.reasons[0]).not.to.match(/unknown ago|NaN|undefined|48151623|48_151/);
    }
  });

  it('let the first payment of a new customer pass', () => {
    const first = make({ card: 'c', customer: 'u', device: 'd', ipPrefix: '192.0.2.0/24' });
    const { risk } = judge(first, new History().featuresOf(first));
    expect(risk).to.deep.equal({
      score: 0,
      level: 'low',
      decision: 'ALLOW',
      reasons: [NO_INDICATOR],
      rule_scores: {},
      evaluator_version: evaluatorVersion(DEFAULT_RULES),
    });
  });

  it('let a customer who pays twice a day for a month pass', () => {
    const history = new History();
    for (let i = 0; i < 60; i++) {
      const event = make({
        at: START + i * 12 * 60 * MINUTE,
        amount: 5_000 + (i % 7) * 1_000,
        card: 'c',
        customer: 'u',
        device: 'd',
        ipPrefix: 'i',
      });
      expect(judge(event, history.featuresOf(event)).risk.decision).to.equal('ALLOW');
      history.add(event);
    }
  });

  it('hold a card-testing burst on one device after a few cards', () => {
    const history = new History();
    const decisions = Array.from({ length: 12 }, (_, i) => {
      const event = make({
        at: START + i * 20_000,
        card: `c${i}`,
        device: 'd',
        ipPrefix: 'i',
        amount: 100,
        status: 'DECLINED',
      });
      const { decision } = judge(event, history.featuresOf(event)).risk;
      history.add(event);
      return decision;
    });
    expect(decisions.slice(0, 4)).to.deep.equal(['ALLOW', 'ALLOW', 'ALLOW', 'ALLOW']);
    expect(decisions.slice(6)).to.satisfy((late: string[]) =>
      late.every((decision) => /HOLD|BLOCK/.test(decision)),
    );
  });

  it('stop a stolen card: far above its own amounts, many times, from a new device', () => {
    const history = new History();
    for (let i = 0; i < 10; i++) {
      const at = START + i * 2 * DAY;
      history.add(make({ at, card: 'c', customer: 'u', device: 'd', amount: 20_000 + i * 100 }));
    }
    const at = START + 20 * DAY;
    const theft = make({ at, card: 'c', customer: 'u', device: 'thief', amount: 900_000 });
    const { risk } = judge(theft, history.featuresOf(theft));
    expect(risk.decision).to.equal('HOLD_RECOMMENDED');
    expect(risk.reasons[0]).to.match(/times the mean .* of this card over 30 days/);
    for (let i = 0; i < 9; i++) {
      history.add(make({ at: at + i * MINUTE, card: 'c', customer: 'u', amount: 900_000 }));
    }
    const again = make({ at: at + 10 * MINUTE, card: 'c', customer: 'u', amount: 9_000_000 });
    expect(judge(again, history.featuresOf(again)).risk.decision).to.match(/HOLD|BLOCK/);
  });

  it('send a refund abuser to review', () => {
    const history = new History();
    const returns = { eventType: 'PAYMENT_REFUND', originalKnown: true } as const;
    for (let i = 0; i < 4; i++) {
      history.add(make({ at: START + i * DAY, customer: 'u', card: 'c' }));
      history.add(make({ ...returns, at: START + i * DAY + MINUTE, customer: 'u', card: 'c' }));
    }
    const fifth = make({ ...returns, at: START + 5 * DAY, customer: 'u', card: 'c' });
    const { risk } = judge(fifth, history.featuresOf(fifth));
    expect(risk.decision).to.equal('REVIEW');
    expect(risk.reasons[0]).to.equal(
      '4 earlier refunds against 4 approved payments of this customer within 30 days (thresholds 4 and share 0.5).',
    );
  });

  it('say so when a refund names an original that is not known', () => {
    const refund = make({ eventType: 'PAYMENT_REFUND', originalKnown: false });
    const { risk } = judge(refund, new History().featuresOf(refund));
    expect(risk.decision).to.equal('REVIEW');
    expect(risk.reasons[0]).to.contain('does not know');
  });

  it('read only features that exist', () => {
    const names = new Set(FEATURES.map(({ name }) => name));
    for (const [name] of [...DEFAULT_RULES.features, ...DEFAULT_RULES.labels]) {
      expect(names.has(name), name).to.equal(true);
    }
  });
});
