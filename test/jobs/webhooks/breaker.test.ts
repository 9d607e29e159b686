import { expect } from 'chai';
import {
  GIVEN_UP_AFTER_MS,
  isGivenUp,
  nextHealth,
  OPENS_AFTER,
  UNKNOWN_HEALTH,
  type Experience,
} from '../../../jobs/webhooks/breaker.ts';
import type { EndpointHealth } from '../../../ledger/webhook-health.ts';

const MINUTE = 60_000;

const failed = (count: number, at: number): Experience => ({
  failures: count,
  firstFailureAt: at,
  lastFailureAt: at,
  lastSuccessAt: undefined,
});
const succeeded = (at: number): Experience => ({
  failures: 0,
  firstFailureAt: undefined,
  lastFailureAt: undefined,
  lastSuccessAt: at,
});
const after = (health: EndpointHealth, seen: Experience, now: number): EndpointHealth =>
  nextHealth(health, seen, now, 0.5);

describe('the circuit breaker of an endpoint', () => {
  it('opens after ten failures in a row, however they are spread over batches, and not after nine', () => {
    let health = after(UNKNOWN_HEALTH, failed(4, 0), 0);
    health = after(health, failed(5, MINUTE), MINUTE);
    expect(health).to.include({ breaker: 'CLOSED', failuresInRow: 9, failingSince: 0 });
    health = after(health, failed(1, 2 * MINUTE), 2 * MINUTE);
    expect(health).to.include({ breaker: 'OPEN', failuresInRow: 10, failingSince: 0 });
    expect(health.probeAt).to.equal(2 * MINUTE + 30_000);
  });

  it('starts counting anew at a success, and at the failures after it', () => {
    const health = after(UNKNOWN_HEALTH, failed(9, 0), 0);
    expect(after(health, succeeded(1), 1)).to.include({
      breaker: 'CLOSED',
      failuresInRow: 0,
      failingSince: undefined,
    });
    const mixed = { ...failed(3, 7), lastSuccessAt: 5 };
    expect(after(health, mixed, 8)).to.include({ failuresInRow: 3, failingSince: 7 });
  });

  it('spares an endpoint the longer the longer it fails, from 5 seconds to 5 minutes', () => {
    const sparedAfter = (failingFor: number): number => {
      const probing: EndpointHealth = {
        ...UNKNOWN_HEALTH,
        breaker: 'HALF_OPEN',
        failuresInRow: OPENS_AFTER,
        failingSince: 0,
      };
      return (after(probing, failed(1, failingFor), failingFor).probeAt ?? 0) - failingFor;
    };
    expect(sparedAfter(1_000)).to.equal(5_000);
    expect(sparedAfter(4 * MINUTE)).to.equal(MINUTE);
    expect(sparedAfter(60 * MINUTE)).to.equal(5 * MINUTE);
    expect(sparedAfter(4 * 1440 * MINUTE)).to.equal(5 * MINUTE);
  });

  it('keeps the time of its probe when attempts that were under way fail later', () => {
    const open = after(UNKNOWN_HEALTH, failed(OPENS_AFTER, 0), 0);
    expect(after(open, failed(5, 3_000), 3_000).probeAt).to.equal(open.probeAt);
  });

  it('closes at the first success and has what is held looked at now', () => {
    const open = after(UNKNOWN_HEALTH, failed(OPENS_AFTER, 0), 0);
    expect(after({ ...open, breaker: 'HALF_OPEN' }, succeeded(9_000), 9_001)).to.include({
      breaker: 'CLOSED',
      failuresInRow: 0,
      probeAt: 9_001,
    });
  });

  it('opens again when the probe fails', () => {
    const open = after(UNKNOWN_HEALTH, failed(OPENS_AFTER, 0), 0);
    const again = after({ ...open, breaker: 'HALF_OPEN' }, failed(1, 9_000), 9_000);
    expect(again.breaker).to.equal('OPEN');
    expect(again.probeAt).to.be.above(9_000);
  });

  it('gives an endpoint up after five days of nothing but failures, not of two far apart', () => {
    const failing = after(UNKNOWN_HEALTH, failed(OPENS_AFTER, 0), 0);
    expect(isGivenUp(failing, GIVEN_UP_AFTER_MS - 1)).to.equal(false);
    expect(isGivenUp(failing, GIVEN_UP_AFTER_MS)).to.equal(true);
    const twice = after(after(UNKNOWN_HEALTH, failed(1, 0), 0), failed(1, 1), GIVEN_UP_AFTER_MS);
    expect(isGivenUp(twice, GIVEN_UP_AFTER_MS)).to.equal(false);
    expect(isGivenUp(after(failing, succeeded(5), 5), GIVEN_UP_AFTER_MS)).to.equal(false);
  });
});
