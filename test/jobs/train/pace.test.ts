import { expect } from 'chai';
import { createPace } from '../../../jobs/train/pace.ts';

describe('the pace of a training', () => {
  it('rests as long as it worked, by processor time, and not for less than a few milliseconds', () => {
    let used = 100;
    const pauses: number[] = [];
    const rest = createPace({ used: () => used, pause: (ms) => void pauses.push(ms) });
    for (let step = 0; step < 10; step++) {
      used += 1;
      rest();
    }
    expect(pauses).to.deep.equal([4, 4]);
    used += 30;
    rest();
    expect(pauses).to.deep.equal([4, 4, 32]);
  });

  it('stops this very thread, and counts its work and nothing else', () => {
    const rest = createPace();
    const began = performance.now();
    const before = process.threadCpuUsage();
    for (let worked = 0; worked < 60;) {
      rest();
      const { user, system } = process.threadCpuUsage(before);
      worked = (user + system) / 1_000;
    }
    expect(performance.now() - began).to.be.greaterThan(100);
  });
});
