import { expect } from 'chai';
import { SiteLanes } from '../../jobs/site-lanes.ts';

describe('the dealing of events to lanes', () => {
  interface Event {
    readonly ref: { readonly siteId: bigint };
    readonly number: number;
  }
  let number = 0;
  const of = (siteId: number, count: number): Event[] =>
    Array.from({ length: count }, () => ({ ref: { siteId: BigInt(siteId) }, number: number++ }));
  const sitesOf = (lane: readonly Event[] = []): number[] =>
    [...new Set(lane.map(({ ref }) => Number(ref.siteId)))].toSorted((a, b) => a - b);

  it('gives all that is under way of a Site to one lane, in the order given', () => {
    const lanes = new SiteLanes(3, 100);
    const events = [...of(1, 5), ...of(2, 5), ...of(1, 5)];
    const first = lanes.deal(events);
    const second = lanes.deal(of(1, 500));
    const home = first.findIndex((lane) => sitesOf(lane).includes(1));
    expect(second[home]).to.have.length(500);
    for (const lane of first) {
      expect(lane.map((event) => event.number)).to.deep.equal(
        lane.map((event) => event.number).toSorted((a, b) => a - b),
      );
    }
    expect(first.flat()).to.have.members(events);
  });

  it('spreads Sites evenly, and remembers where each was', () => {
    const lanes = new SiteLanes(2, 100);
    const events = Array.from({ length: 10 }, (_, site) => of(site, 7)).flat();
    const first = lanes.deal(events);
    expect(first.map((lane) => lane.length)).to.deep.equal([35, 35]);
    for (const [index, lane] of first.entries()) lanes.settled(index, lane);
    expect(lanes.total).to.equal(0);
    expect(lanes.deal(events).map(sitesOf)).to.deep.equal(first.map(sitesOf));
  });

  it('moves a Site of which nothing is under way from a lane that has fallen behind, and no other', () => {
    const lanes = new SiteLanes(2, 100);
    const small = lanes.deal(of(1, 1));
    expect(sitesOf(small[0])).to.deep.equal([1]);
    lanes.settled(0, small[0] ?? []);
    // The first lane gets far behind with another Site.
    expect(lanes.deal(of(2, 150))[0]).to.have.length(150);
    const [stays, moved] = lanes.deal([...of(1, 3), ...of(2, 3)]);
    expect([sitesOf(stays), sitesOf(moved)]).to.deep.equal([[2], [1]]);
    expect([lanes.least, lanes.total]).to.deep.equal([3, 156]);
  });
});
