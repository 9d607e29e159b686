import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { Lane, LANE_LIMITS, type Traffic } from '../../../jobs/webhooks/lane.ts';
import type { ClaimedEndpoint } from '../../../ledger/webhook-claims.ts';

const DAY = 86_400_000;

const endpoint = (failuresInRow: number, lastSuccessAt?: number): ClaimedEndpoint => ({
  siteId: 1n,
  endpointId: 1n,
  url: 'https://example.com/',
  urlVersion: 1,
  state: 'ACTIVE',
  challengeEventId: undefined,
  failuresInRow,
  breaker: 'CLOSED',
  lastSuccessAt,
  secrets: undefined,
});

describe('the lane of an endpoint', () => {
  let traffic: Traffic;
  let made = 0;

  beforeEach(() => (traffic = { all: 0, doubtful: 0 }));

  const lane = (limits = {}): Lane<number> => new Lane({ ...LANE_LIMITS, ...limits }, traffic);
  /** Starts as many attempts as there is room for. */
  const fill = (to: Lane<number>): number[] => {
    const begun: number[] = [];
    while (to.hasRoom()) {
      made += 1;
      to.begin(made);
      begun.push(made);
    }
    return begun;
  };
  const answerAll = (
    to: Lane<number>,
    items: number[],
    delivered = true,
    durationMs = 10,
  ): void => {
    for (const item of items) to.end(item, { delivered, durationMs });
  };

  it('starts with two slots, gains one per fast success up to 64, and loses half with a failure', () => {
    const one = lane();
    let items = fill(one);
    expect(items).to.have.length(2);
    answerAll(one, items);
    items = fill(one);
    expect(items).to.have.length(4);
    for (let n = 0; n < 10; n += 1) {
      answerAll(one, items);
      items = fill(one);
    }
    expect(items).to.have.length(64);
    one.end(items.pop()!, { delivered: false, durationMs: 10 });
    answerAll(one, items, true, 10);
    expect(fill(one).length).to.be.within(32, 64);
  });

  it('gets sixteen slots at most where it answers slowly, and counts as doubtful', () => {
    const one = lane();
    for (let n = 0; n < 20; n += 1) answerAll(one, fill(one), true, 2_000);
    expect(fill(one)).to.have.length(16);
    expect(traffic).to.deep.equal({ all: 16, doubtful: 16 });
  });

  it('gets one attempt at a time after three failures in a row, here or in other processes', () => {
    const here = lane();
    for (let n = 0; n < 3; n += 1) answerAll(here, fill(here).slice(0, 1), false);
    expect(here.hasRoom()).to.equal(here.running === 0);
    const there = lane();
    there.learn(endpoint(3), Date.now());
    expect(fill(there)).to.have.length(1);
  });

  it('cannot take the room of endpoints that answer, however many hang', () => {
    const limits = { all: 100, doubtful: 60 };
    const known = lane(limits);
    known.learn(endpoint(0, Date.now() - DAY / 2), Date.now());
    for (let n = 0; n < 200; n += 1) fill(lane(limits));
    expect(traffic).to.deep.equal({ all: 60, doubtful: 60 });
    expect(fill(known).length).to.be.above(0);
    const stranger = lane(limits);
    expect(fill(stranger)).to.have.length(0);
  });

  it('starts no more than two beside an attempt that has had no answer for a second', async () => {
    const one = lane();
    for (let n = 0; n < 10; n += 1) answerAll(one, fill(one));
    made += 1;
    one.begin(made);
    expect(one.hasRoom()).to.equal(true);
    await sleep(1_020);
    expect(fill(one)).to.have.length(1);
    expect(traffic.doubtful, 'the one that is started beside it').to.equal(1);
  });

  it('keeps waiting what it can send within five seconds, and hands the rest out', () => {
    const one = lane();
    answerAll(one, fill(one), true, 1_000);
    let waiting = 0;
    while (one.hasWaitingRoom()) {
      waiting += 1;
      one.wait(waiting);
    }
    expect(waiting).to.be.within(10, 100);
    for (let n = 0; n < 3; n += 1) {
      const item = 1_000 + n;
      one.begin(item);
      one.end(item, { delivered: false, durationMs: 5_000 });
    }
    expect(one.takeExcess()).to.have.length(waiting - 4);
    expect(one.takeExcess(true)).to.have.length(4);
  });
});
