import { expect } from 'chai';
import { findForbidden } from '../../contract/forbidden-data.ts';
import { BODY, HOSTILE, ORDINARY_EVENT } from '../support/scan-loads.ts';

/** Fastest of some runs, in milliseconds: the one that the machine disturbed least. */
function fastest(value: unknown, runs = 6): number {
  let best = Infinity;
  for (let run = 0; run < runs; run++) {
    const start = performance.now();
    findForbidden(value);
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

describe('contract/forbidden-data: speed', () => {
  for (const [what, make] of Object.entries(HOSTILE)) {
    it(`a body full of ${what} is scanned in linear time`, function () {
      // Quadratic time fails every time; a machine that is busy elsewhere does not.
      this.retries(3);
      const small = { order: { x: make(BODY / 4) } };
      const large = { order: { x: make(BODY) } };
      fastest(small, 3); // compiled before it is measured
      // Quadratic time would be sixteenfold, and seconds long; the floor forgives the clock on a busy machine.
      expect(fastest(large)).to.be.below(Math.max(fastest(small) * 10, 10));
    });
  }

  it('an ordinary event of 1 KB costs far less than its parsing and storing', () => {
    for (let i = 0; i < 3000; i++) findForbidden(ORDINARY_EVENT);
    const start = performance.now();
    for (let i = 0; i < 3000; i++) findForbidden(ORDINARY_EVENT);
    const microseconds = ((performance.now() - start) / 3000) * 1000;
    expect(microseconds).to.be.below(100); // about 10 on a quiet core
  });
});
