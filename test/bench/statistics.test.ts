import { expect } from 'chai';
import { median, percentile, slope, summarise } from '../../bench/statistics.ts';

describe('statistics of the bench', () => {
  it('a percentile is the smallest sample that enough samples do not exceed', () => {
    const samples = Array.from({ length: 100 }, (_, index) => index + 1);
    expect(percentile(samples, 0.5)).to.equal(50);
    expect(percentile(samples, 0.99)).to.equal(99);
    expect(percentile(samples, 1)).to.equal(100);
    expect(percentile([7], 0.01)).to.equal(7);
    expect(Number.isNaN(percentile([], 0.5))).to.equal(true);
  });

  it('latencies are summarised whatever their order', () => {
    expect(summarise([30, 1, 2, 20, 10])).to.deep.equal({ p50: 10, p95: 30, p99: 30, max: 30 });
  });

  it('a median lies in the middle', () => {
    expect(median([9, 1, 5])).to.equal(5);
    expect(median([4, 1, 9, 2])).to.equal(3);
    expect(Number.isNaN(median([]))).to.equal(true);
  });

  it('a slope is found through noise, and is 0 where nothing can be said', () => {
    const line = Array.from({ length: 50 }, (_, x) => ({
      x,
      y: 3 * x + 7 + (x % 2 === 0 ? 1 : -1),
    }));
    expect(slope(line)).to.be.closeTo(3, 0.01);
    expect(slope([])).to.equal(0);
    expect(slope([{ x: 1, y: 1 }])).to.equal(0);
    expect(
      slope([
        { x: 1, y: 1 },
        { x: 1, y: 9 },
      ]),
    ).to.equal(0);
  });
});
