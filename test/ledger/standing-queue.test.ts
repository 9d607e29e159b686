import { expect } from 'chai';
import { StandingQueue } from '../../ledger/standing-queue.ts';

describe('a queue that may stand', () => {
  it('takes a burst for a quarter of a second, and refuses once it is long without a break', () => {
    const queue = new StandingQueue();
    expect([0, 100, 249].map((at) => queue.refuses(true, at))).to.deep.equal([false, false, false]);
    expect(queue.refuses(true, 250)).to.equal(true);
  });

  it('counts from the last moment at which it was short', () => {
    const queue = new StandingQueue();
    queue.refuses(true, 0);
    queue.refuses(false, 200);
    expect(queue.refuses(true, 300)).to.equal(false);
    expect(queue.refuses(true, 549)).to.equal(false);
    expect(queue.refuses(true, 550)).to.equal(true);
  });

  it('is kept short until nothing was refused for a second', () => {
    const queue = new StandingQueue();
    queue.refuses(true, 0);
    queue.refuses(true, 250);
    expect(queue.refuses(false, 300)).to.equal(false);
    expect(queue.refuses(true, 1_249)).to.equal(true);
    expect(queue.refuses(false, 1_300)).to.equal(false);
    expect(queue.refuses(true, 2_249)).to.equal(false);
  });
});
