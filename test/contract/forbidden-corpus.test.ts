import { expect } from 'chai';
import { findForbidden } from '../../contract/forbidden-data.ts';
import { benignSamples, forbiddenSamples, type Sample } from '../support/forbidden-corpus.ts';

/** Per kind: how many samples, and how many of them the scan found something in. */
function scan(samples: readonly Sample[]): Map<string, { total: number; found: number }> {
  const kinds = new Map<string, { total: number; found: number }>();
  for (const { kind, value } of samples) {
    const count = kinds.get(kind) ?? { total: 0, found: 0 };
    count.total++;
    if (findForbidden({ order: { field: value } }).length > 0) count.found++;
    kinds.set(kind, count);
  }
  return kinds;
}

describe('contract/forbidden-data: corpus', () => {
  it('of 20,000 harmless values at most 0.1 % of any kind are refused', () => {
    const kinds = scan(benignSamples(20260301, 20_000));
    expect(kinds.size).to.be.at.least(20);
    for (const [kind, { total, found }] of kinds) expect(found / total, kind).to.be.at.most(0.001);
  });

  it('of 2,000 forbidden values in many dresses at most 1 % are missed', () => {
    const kinds = scan(forbiddenSamples(20260302, 2000));
    expect(kinds.size).to.be.at.least(20);
    for (const [kind, { total, found }] of kinds)
      expect(1 - found / total, kind).to.be.at.most(0.01);
  });
});
