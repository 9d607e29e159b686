import { expect } from 'chai';
import { simulate } from '../../risk/sandbox.ts';
import { makeBody } from './events.ts';

describe('the sandbox', () => {
  for (const [token, decision, from, to] of [
    ['tok_sandbox_allow', 'ALLOW', 0, 29],
    ['tok_sandbox_review', 'REVIEW', 30, 84],
    ['tok_sandbox_block', 'BLOCK', 85, 100],
  ] as const) {
    it(`answers ${decision} to ${token}, with a score of its band`, () => {
      const simulation = simulate(makeBody({ card: token }));
      expect(simulation.decision).to.equal(decision);
      expect(simulation.risk_score).to.be.within(from, to);
      expect(simulation.reasons).to.have.length(1);
    });
  }

  it('judges anything else without history: an ordinary payment passes, three countries are reviewed', () => {
    expect(simulate(makeBody({ card: 'tok_1' }))).to.include({ risk_score: 0, decision: 'ALLOW' });
    const body = {
      ...makeBody(),
      payment_method: { type: 'CARD', token: 'tok_1', issuer_country: 'KR' },
      network: { country: 'BR' },
      order: { shipping_country: 'RO' },
    };
    expect(simulate(body).decision).to.equal('REVIEW');
  });

  it('remembers nothing: the hundredth payment of a card is judged like the first', () => {
    const body = makeBody({ card: 'tok_1', customer: 'u' });
    const first = simulate(body);
    for (let i = 0; i < 100; i++) expect(simulate(body)).to.deep.equal(first);
  });
});
