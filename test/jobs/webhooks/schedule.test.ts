import { expect } from 'chai';
import { nextWait, parseRetryAfter } from '../../../jobs/webhooks/schedule.ts';

const WAITS = [5, 300, 1800, 7200, 18_000, 36_000, 36_000];
const NOW = Date.parse('2026-03-01T00:00:00Z');

describe('the schedule of webhook attempts', () => {
  it('waits as planned and up to 20 % longer, then ends', () => {
    for (const [index, seconds] of WAITS.entries()) {
      expect(nextWait(index + 1, WAITS, { random: 0 })).to.equal(seconds * 1000);
      expect(nextWait(index + 1, WAITS, { random: 0.999_999 })).to.be.within(
        seconds * 1199,
        seconds * 1200,
      );
    }
    expect(nextWait(WAITS.length + 1, WAITS, { random: 0 })).to.equal(undefined);
  });

  it('honours Retry-After between the planned wait and twice of it', () => {
    const wait = (retryAfterMs: number) => nextWait(2, WAITS, { retryAfterMs, random: 0 });
    expect(wait(0)).to.equal(300_000);
    expect(wait(299_000)).to.equal(300_000);
    expect(wait(450_000)).to.equal(450_000);
    expect(wait(600_000)).to.equal(600_000);
    expect(wait(1e15)).to.equal(600_000);
  });

  it('reads Retry-After as seconds or as a date in any form of HTTP', () => {
    const cases: [string | undefined, number | undefined][] = [
      ['120', 120_000],
      [' 7 ', 7_000],
      ['0', 0],
      ['99999999999999999999999999', 999_999_999_999_999_000],
      ['Sun, 01 Mar 2026 00:02:00 GMT', 120_000],
      ['Sunday, 01-Mar-26 00:02:00 GMT', 120_000],
      ['Sun Mar  1 00:02:00 2026', 120_000],
      ['Sat, 28 Feb 2026 00:00:00 GMT', 0],
      ['-5', undefined],
      ['1.5', undefined],
      ['soon', undefined],
      ['2026-03-01', undefined],
      ['Sun, 99 Mar 2026 00:02:00 GMT', undefined],
      ['', undefined],
      [undefined, undefined],
    ];
    for (const [value, expected] of cases) {
      expect(parseRetryAfter(value, NOW), String(value)).to.equal(expected);
    }
  });
});
