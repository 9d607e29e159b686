import { expect } from 'chai';
import { PaymentSample, type ChosenPayments } from '../../../jobs/train/payment-sample.ts';
import { randomSource } from '../../risk/events.ts';

interface Made {
  readonly id: bigint;
  readonly isFraud: boolean;
}

function payments(count: number, fraudOf: (place: number) => boolean): Made[] {
  return Array.from({ length: count }, (_, place) => ({
    id: (1n << 40n) + BigInt(place) * 3n,
    isFraud: fraudOf(place),
  }));
}

function sampleOf(all: readonly Made[], most: number): PaymentSample {
  const sample = new PaymentSample(most);
  for (const { id, isFraud } of all) {
    const at = Number(id);
    sample.add({ ingestionId: id, at, evaluatedAt: at + 1, isFraud, answered: at / 4 });
  }
  return sample;
}

const idsOf = ({ ids }: ChosenPayments): bigint[] => [...ids];
const fraudsOf = ({ isFraud }: ChosenPayments): number =>
  isFraud.reduce((sum, each) => sum + each, 0);

describe('the payments that a model learns from', () => {
  it('are all of them where there is room, in their order, each with what belongs to it', () => {
    const all = payments(100, (place) => place % 9 === 0);
    const chosen = sampleOf(all, 100).finish();
    expect(idsOf(chosen)).to.deep.equal(all.map(({ id }) => id));
    for (const [place, { id, isFraud }] of all.entries()) {
      expect(chosen.isFraud[place]).to.equal(isFraud ? 1 : 0);
      expect(chosen.at[place]).to.equal(Number(id));
      expect(chosen.evaluatedAt[place]).to.equal(Number(id) + 1);
      expect(chosen.answered[place]).to.equal(Number(id) / 4);
    }
    expect(chosen.weights).to.deep.equal({ fraud: 1, genuine: 1 });
  });

  it('are every fraud and a sample of the others, which stand for those left out', () => {
    const all = payments(10_000, (place) => place % 50 === 7);
    const chosen = sampleOf(all, 1_000).finish();
    expect(chosen.count).to.equal(1_000);
    expect(fraudsOf(chosen)).to.equal(200);
    expect(idsOf(chosen)).to.deep.equal(idsOf(chosen).toSorted((a, b) => (a < b ? -1 : 1)));
    expect(chosen.weights).to.deep.equal({ fraud: 1, genuine: 9_800 / 800 });
    const byId = new Map(all.map((each) => [each.id, each.isFraud]));
    for (const [place, id] of chosen.ids.entries()) {
      expect(chosen.isFraud[place]).to.equal(byId.get(id) === true ? 1 : 0);
      expect(chosen.at[place]).to.equal(Number(id));
    }
    // A sample of the whole time, not of its beginning or its end.
    const early = idsOf(chosen).filter((id) => id < (all[5_000]?.id ?? 0n));
    expect(early.length).to.be.within(420, 580);
  });

  it('are the same however many came before and after: those of a smaller sample are in a larger one', () => {
    const random = randomSource(5);
    const all = payments(5_000, () => random(40) === 0);
    const small = new Set(idsOf(sampleOf(all, 400).finish()));
    const large = new Set(idsOf(sampleOf(all, 1_900).finish()));
    expect(small.size).to.equal(400);
    expect([...small].filter((id) => !large.has(id))).to.deep.equal([]);
    expect(idsOf(sampleOf(all, 400).finish())).to.deep.equal([...small]);
  });

  it('are half frauds at most, and those stand for the others of their kind', () => {
    const all = payments(3_000, (place) => place % 3 !== 0);
    const chosen = sampleOf(all, 300).finish();
    expect(fraudsOf(chosen)).to.equal(150);
    expect(chosen.count).to.equal(300);
    expect(chosen.weights).to.deep.equal({ fraud: 2_000 / 150, genuine: 1_000 / 150 });
  });

  it('give places of some of each kind, ascending, and none of a kind there is not', () => {
    const sample = sampleOf(
      payments(1_000, (place) => place % 10 === 0),
      1_000,
    );
    const { isFraud } = sample.finish();
    const places = [...sample.places(30, 60)];
    expect(places).to.have.length(90);
    expect(places).to.deep.equal(places.toSorted((a, b) => a - b));
    expect(places.filter((place) => isFraud[place] === 1)).to.have.length(30);
    expect(
      sampleOf(
        payments(20, () => false),
        20,
      ).places(5, 5),
    ).to.have.length(5);
    expect(sampleOf([], 20).places(5, 5)).to.have.length(0);
    expect(sampleOf([], 20).finish()).to.include({ count: 0 });
  });
});
