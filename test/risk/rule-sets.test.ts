import { expect } from 'chai';
import { judge } from '../../risk/evaluate.ts';
import { compileRuleSet } from '../../risk/rules/compile.ts';
import type { Rule, RuleProblem } from '../../risk/rules/rule.ts';
import { factsOfCase, featuresOfCase } from '../../risk/rules/run-cases.ts';

const PLAIN: Rule = {
  id: 'plain',
  reason: 'PLAIN',
  points: 20,
  when: 'event.amount_minor > 0.0',
  message: 'Plain.',
};
const CASE = { features: { card_attempts_1h: 5 }, answer: 'HIT' } as const;
const EVENT = { facts: factsOfCase(CASE) };
const FEATURES = featuresOfCase(CASE);

function judged(...rules: Rule[]) {
  return judge(EVENT, FEATURES, compileRuleSet({ id: 'test', version: 1, rules }));
}

function problemsOf(change: Partial<Rule>): readonly RuleProblem[] {
  return compileRuleSet({ id: 'test', version: 1, rules: [{ ...PLAIN, ...change }] }).problems;
}

describe('a rule set', () => {
  it('with a broken rule answers ERROR for it and counts the others', () => {
    const broken = { ...PLAIN, id: 'broken', when: 'event.amount_minor >' };
    const { answers, risk } = judged(broken, PLAIN);
    expect(answers).to.deep.equal(['ERROR', 'HIT']);
    expect(risk.score).to.equal(20);
    expect(risk.rule_scores).to.deep.equal({ plain: 20 });
  });

  it('with a rule that fails while it runs answers ERROR for it and counts the others', () => {
    const failing = {
      ...PLAIN,
      id: 'failing',
      when: 'has(features.card_idle_seconds) || features.card_idle_seconds > 1.0',
    };
    expect(judged(failing, PLAIN).answers).to.deep.equal(['ERROR', 'HIT']);
  });

  it('tells missing history, a missing entity and a closed gate apart', () => {
    const { answers } = judged(
      { ...PLAIN, id: 'a', when: 'features.card_amount_mean_30d > 1.0' },
      { ...PLAIN, id: 'b', needs: { card_attempts_1h: 6 } },
      { ...PLAIN, id: 'c', when: 'features.device_attempts_1h >= 0.0' },
      { ...PLAIN, id: 'd', applies: 'event.is_return' },
      { ...PLAIN, id: 'e', when: 'event.issuer_differs_from_network' },
      { ...PLAIN, id: 'f', when: 'features.card_attempts_1h > limit', limits: { limit: 5 } },
      { ...PLAIN, id: 'g', applies: 'features.card_amount_mean_30d > 1.0' },
    );
    expect(answers).to.deep.equal([
      'INSUFFICIENT_HISTORY',
      'INSUFFICIENT_HISTORY',
      'NOT_APPLICABLE',
      'NOT_APPLICABLE',
      'NOT_APPLICABLE',
      'NO_HIT',
      'NOT_APPLICABLE',
    ]);
  });

  it('counts of a group only the hit with most points', () => {
    const { risk } = judged(
      { ...PLAIN, id: 'weak', group: 'g', points: 30 },
      { ...PLAIN, id: 'strong', group: 'g', points: 40 },
      PLAIN,
    );
    expect(risk.rule_scores).to.deep.equal({ strong: 40, plain: 20 });
    expect(risk.score).to.equal(52);
  });

  it('gives each rule its own limits, also where the gate is written alike', () => {
    const gated = { ...PLAIN, applies: 'features.card_attempts_1h >= limit' };
    const { answers } = judged(
      { ...gated, id: 'low', limits: { limit: 5 } },
      { ...gated, id: 'high', limits: { limit: 6 } },
    );
    expect(answers).to.deep.equal(['HIT', 'NOT_APPLICABLE']);
  });

  it('points at the character that is wrong', () => {
    expect(problemsOf({ when: 'features.card_atempts_1h > 3.0' })[0]).to.include({
      rule: 'plain',
      where: 'when',
      start: 9,
    });
    expect(problemsOf({ when: 'event.is_payment > 3.0' })[0]).to.include({
      where: 'when',
      start: 0,
    });
    expect(problemsOf({ applies: 'event.channel ==' })[0]).to.include({ where: 'applies' });
  });

  it('refuses what could loop, backtrack or reach beyond its three variables', () => {
    for (const when of [
      "event.channel.matches('(a+)+$')",
      '[1, 2].exists(x, x > 1)',
      "timestamp('2026-01-01T00:00:00Z').getHours() > 1",
      "event['constructor'] == 1",
      'event.constructor == 1',
      'process.exit == 1',
      `${'('.repeat(60)}true${')'.repeat(60)}`,
      `${'event.is_payment && '.repeat(400)}true`,
      'event.amount_minor',
      'features.card_attempts_1h',
    ]) {
      expect(problemsOf({ when }), when).to.have.length(1);
    }
  });

  it('refuses a message that shows the event, an amount or an unknown name', () => {
    for (const message of [
      '{event.currency}',
      '{features.card_amount_mean_30d}',
      '{features.card_amount_sum_24h}',
      '{features.card_fraud_confirmed}',
      '{labels.card_attempts_1h}',
      '{features.nothing}',
      '{constructor}',
      '{',
      'a } b',
    ]) {
      expect(problemsOf({ message }), message).to.have.length(1);
    }
    expect(
      problemsOf({ message: '{labels.card_fraud_confirmed} {limit}', limits: { limit: 1 } }),
    ).to.deep.equal([]);
  });

  it('refuses odd ids, points, limits and needs', () => {
    expect(problemsOf({ id: '__proto__' })).to.have.length(1);
    expect(problemsOf({ points: 0 })).to.have.length(1);
    expect(problemsOf({ points: 1.5 })).to.have.length(1);
    expect(problemsOf({ limits: { limit: Number.NaN } })).to.have.length(1);
    expect(problemsOf({ needs: { nothing: 1 } })).to.have.length(1);
    const twice = compileRuleSet({ id: 'test', version: 1, rules: [PLAIN, PLAIN] });
    expect(twice.problems).to.have.length(1);
  });

  it('has a hash that follows its rules and not its cases', () => {
    const hashOf = (rule: Rule) =>
      compileRuleSet({ id: 'test', version: 1, rules: [rule] }).contentHash;
    expect(hashOf({ ...PLAIN, points: 21 })).not.to.equal(hashOf(PLAIN));
    expect(hashOf({ ...PLAIN, cases: [CASE] })).to.equal(hashOf(PLAIN));
  });
});
