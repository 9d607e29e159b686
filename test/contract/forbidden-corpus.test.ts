import { expect } from 'chai';
import { benignSamples, forbiddenSamples } from '../support/forbidden-corpus.ts';
import { missedShare, ratesOf, refusedShare } from '../support/forbidden-rates.ts';
import { longNumberSamples, looksLikeCard } from '../support/long-numbers.ts';

describe('contract/forbidden-data: corpus', () => {
  it('of 100,000 harmless values at most 0.1 % of any kind are refused', () => {
    const kinds = ratesOf(benignSamples(20260301, 100_000));
    expect(kinds.length).to.be.at.least(20);
    for (const rate of kinds) {
      expect(refusedShare(rate), rate.kind).to.be.at.most(0.001);
      expect(rate.cardLike, rate.kind).to.equal(0);
    }
  });

  it('of 50,000 ids as long as a card at most 0.1 % of any kind are refused that do not look like one', () => {
    for (const rate of ratesOf(longNumberSamples(20260303, 50_000))) {
      expect(refusedShare(rate), rate.kind).to.be.at.most(0.001);
    }
  });

  it('what looks like a card is told by beginning, length and check digit', () => {
    for (const text of ['4111111111111111', '4111-1111-1111-1111', '378282246310005']) {
      expect(looksLikeCard(text), text).to.equal(true);
    }
    for (const text of ['4111111111111112', '1111111111111117', '411111111111', 'x']) {
      expect(looksLikeCard(text), text).to.equal(false);
    }
  });

  it('of 10,000 forbidden values in many dresses at most 1 % are missed', () => {
    const kinds = ratesOf(forbiddenSamples(20260302, 10_000));
    expect(kinds.length).to.be.at.least(20);
    for (const rate of kinds) expect(missedShare(rate), rate.kind).to.be.at.most(0.01);
  });
});
