import { expect } from 'chai';
import { addSaturating, addSquare, squareSum } from '../../risk/features/exact.ts';
import { randomSource } from './events.ts';

describe('exact sums', () => {
  it('of squares equal those of unlimited integers, in any order', () => {
    const random = randomSource(1);
    const amounts = Array.from({ length: 2_000 }, () => random(2 ** (1 + random(37))));
    const forward = [0, 0];
    const backward = [0, 0];
    for (const amount of amounts) addSquare(forward, 0, amount);
    for (const amount of amounts.toReversed()) addSquare(backward, 0, amount);
    const exact = amounts.reduce((sum, amount) => sum + BigInt(amount) ** 2n, 0n);
    const [high = 0, low = 0] = forward;
    expect(BigInt(high) * 2n ** 40n + BigInt(low)).to.equal(exact);
    expect(backward).to.deep.equal(forward);
    expect(squareSum(high, low)).to.be.closeTo(Number(exact), Number(exact) * 1e-15);
  });

  it('stop at their largest value instead of losing digits', () => {
    expect(addSaturating(Number.MAX_SAFE_INTEGER, 1)).to.equal(Number.MAX_SAFE_INTEGER);
    const cells = [0, 0];
    for (let i = 0; i < 5; i++) addSquare(cells, 0, Number.MAX_SAFE_INTEGER);
    expect(cells).to.deep.equal([Number.MAX_SAFE_INTEGER, 0]);
  });
});
