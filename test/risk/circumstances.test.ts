import { expect } from 'chai';
import { circumstancesOf, judge, type Circumstances } from '../../risk/evaluate.ts';
import { composeRuleSets } from '../../risk/rules/compile.ts';
import type { Rule, RuleSet } from '../../risk/rules/rule.ts';
import { factsOfCase, featuresOfCase } from '../../risk/rules/run-cases.ts';

const EVENT = { facts: factsOfCase({ answer: 'HIT' }) };
const FEATURES = featuresOfCase({ answer: 'HIT' });

const always = (id: string, points: number): Rule => ({
  id,
  reason: id.toUpperCase(),
  points,
  when: 'event.amount_minor > 0.0',
  message: `Says ${id}.`,
});

const forAll = (...rules: Rule[]): RuleSet => ({ id: 'global', version: 7, rules });

function judged(rules: RuleSet, circumstances: Circumstances = {}, site?: RuleSet) {
  return judge(EVENT, FEATURES, composeRuleSets(rules, site), undefined, circumstances);
}

describe('lists', () => {
  it('decide before any score: block before allow, allow before watch', () => {
    const risky = forAll(always('strong', 90));
    const calm = forAll(always('weak', 5));
    const rows = [
      [calm, ['block'], 100, 'BLOCK_RECOMMENDED'],
      [risky, ['allow'], 29, 'ALLOW'],
      [risky, ['allow', 'watch'], 29, 'ALLOW'],
      [risky, ['block', 'allow', 'watch'], 100, 'BLOCK_RECOMMENDED'],
      [calm, ['watch'], 30, 'REVIEW'],
      [risky, ['watch'], 90, 'BLOCK_RECOMMENDED'],
    ] as const;
    for (const [rules, names, score, decision] of rows) {
      const listed = names.map((list) => ({ list, kind: 'card' as const }));
      const { risk } = judged(rules, { listed });
      expect([risk.score, risk.decision], names.join()).to.deep.equal([score, decision]);
    }
  });

  it('are a reason that names the kind of thing and not the thing, most important first', () => {
    const { risk } = judged(forAll(always('strong', 90)), {
      listed: [{ list: 'allow', kind: 'ip_prefix' }],
      listsVersion: '41',
    });
    expect(risk.reasons).to.deep.equal(['The network is on an allow list.', 'Says strong.']);
    expect(risk.rule_scores).to.deep.equal({ strong: 90, list_allow_ip_prefix: 0 });
    expect(risk.evaluator_version).to.match(/\+lists\.41\+model\.none$/);
  });
});

describe('a rule that has reached its cap', () => {
  it('blocks no more: what it alone would block is reviewed', () => {
    const { blockedBy, risk } = judged(forAll(always('strong', 90)), {
      capped: new Set(['strong']),
    });
    expect([risk.score, risk.decision]).to.deep.equal([59, 'REVIEW']);
    expect(risk.rule_scores).to.deep.equal({ strong: 90, cap_strong: 90 });
    expect(risk.reasons[0]).to.match(/has reached its share of the traffic/);
    expect(blockedBy).to.equal(undefined);
  });

  it('leaves to the others what they say: a block stays a block, a hold a hold', () => {
    const capped = new Set(['strong']);
    const blocked = judged(forAll(always('strong', 90), always('other', 86)), { capped });
    expect(blocked.risk.decision).to.equal('BLOCK_RECOMMENDED');
    expect(blocked.blockedBy).to.equal('other');
    expect(blocked.risk.rule_scores).not.to.have.property('cap_strong');
    const held = judged(forAll(always('strong', 90), always('other', 70)), { capped });
    expect([held.risk.score, held.risk.decision]).to.deep.equal([70, 'HOLD_RECOMMENDED']);
    const byModel = judged(forAll(always('strong', 90)), { capped, probability: 0.9 });
    expect(byModel.risk.decision).to.equal('BLOCK_RECOMMENDED');
  });

  it('does not hold back a block list', () => {
    const { blockedBy, risk } = judged(forAll(always('strong', 90)), {
      capped: new Set(['strong']),
      listed: [{ list: 'block', kind: 'card' }],
    });
    expect(risk.decision).to.equal('BLOCK_RECOMMENDED');
    expect(blockedBy).to.equal(undefined);
  });
});

describe('the rules of a Site', () => {
  const all = forAll(always('one', 20), always('two', 30));

  it('stand beside those for all Sites, say one of them anew, or do without it', () => {
    const site = {
      id: 'site',
      version: 3,
      rules: [always('two', 50), always('three', 10)],
      without: ['one'],
    };
    const { answers, risk } = judged(all, {}, site);
    expect(risk.rule_scores).to.deep.equal({ two: 50, three: 10 });
    expect(answers).to.have.length(2);
    expect(risk.evaluator_version).to.match(
      /\+rules\.global-7\.[0-9a-f]{8}\+site\.3\.[0-9a-f]{8}\+model\.none$/,
    );
  });

  it('have thresholds of their own, which change decisions and not levels', () => {
    const site = {
      id: 'site',
      version: 1,
      rules: [],
      thresholds: { review: 50, hold: 80, block: 101 },
    };
    expect(judged(all, {}, site).risk).to.include({
      score: 44,
      level: 'medium',
      decision: 'ALLOW',
    });
    const strong = judged(forAll(always('strong', 100)), {}, site);
    expect(strong.risk).to.include({ level: 'critical', decision: 'HOLD_RECOMMENDED' });
  });

  it('may not have ids that stand for something else in rule_scores', () => {
    for (const id of ['model_x', 'list_block_card', 'cap_x']) {
      expect(composeRuleSets(forAll(always(id, 10)), undefined).problems, id).to.have.length(1);
    }
  });

  it('are refused with thresholds or caps that make no sense', () => {
    for (const change of [
      { thresholds: { review: 60, hold: 30, block: 85 } },
      { thresholds: { review: 0, hold: 30, block: 85 } },
      { thresholds: { review: 1.5, hold: 30, block: 85 } },
      { thresholds: { review: 30, hold: 60, block: 102 } },
      { block_cap: { share: 0, least: 10 } },
      { block_cap: { share: 1.1, least: 10 } },
      { block_cap: { share: 0.5, least: -1 } },
    ]) {
      const { problems } = composeRuleSets({ ...forAll(), ...change }, undefined);
      expect(problems, JSON.stringify(change)).to.have.length(1);
    }
  });
});

describe('circumstances', () => {
  it('come back out of a result, whatever order its keys are kept in', () => {
    const circumstances = {
      listed: [
        { list: 'watch', kind: 'card' },
        { list: 'watch', kind: 'merchant' },
      ],
      capped: new Set(['strong']),
      probability: 0.25,
      listsVersion: '9',
    } as const;
    const { risk } = judged(forAll(always('strong', 90)), circumstances);
    const kept = Object.fromEntries(Object.entries(risk.rule_scores).toReversed());
    expect(circumstancesOf(kept, risk.evaluator_version)).to.deep.equal(circumstances);
    expect(
      judged(forAll(always('strong', 90)), circumstancesOf(kept, risk.evaluator_version)).risk,
    ).to.deep.equal(risk);
  });
});
