import { expect } from 'chai';
import { labelledPast, type PastLine } from '../../bench/model/labelled-past.ts';
import { TransactionEvent } from '../../contract/transaction.ts';

const DAY = 86_400_000;
const FROM = Date.UTC(2026, 2, 1);
const PAST = { seed: 3, payments: 30_000, from: FROM, to: FROM + 28 * DAY };

describe('the labelled past of the bench', () => {
  let lines: PastLine[] = [];

  before(() => {
    lines = [...labelledPast(PAST)];
  });

  it('is the same for the same seed, in the order of time, within its days, ids used once', () => {
    expect([...labelledPast(PAST)].slice(0, 2_000)).to.deep.equal(lines.slice(0, 2_000));
    const other = [...labelledPast({ ...PAST, seed: 4, payments: 500 })];
    expect(other.map(({ event }) => event)).not.to.deep.include(lines[0]?.event);
    for (const [index, { at }] of lines.entries()) {
      expect(at).to.be.at.least(lines[index - 1]?.at ?? PAST.from);
    }
    expect(lines.at(-1)?.at).to.be.below(PAST.to);
    const ids = new Set(lines.map(({ event }) => event.source_event_id));
    expect(ids.size).to.equal(lines.length);
  });

  it('has events that the contract accepts, those of a later life of earlier payments', () => {
    const before = new Set<string>();
    for (const { at, event } of lines.slice(0, 5_000)) {
      expect(TransactionEvent.safeParse(event).success).to.equal(true);
      expect(Date.parse(event.transaction.occurred_at)).to.equal(at);
      const original = event.transaction.original_event_id;
      if (original !== undefined) expect(before.has(original)).to.equal(true);
      before.add(event.source_event_id);
    }
  });

  it('has as many payments as asked, of which 0.5 to 1 % are labelled as frauds, each after it and within the delay', () => {
    const payments = lines.filter(({ event }) => event.event_type === 'PAYMENT_AUTH');
    expect(payments.length).to.equal(PAST.payments);
    const frauds = payments.filter(({ labels }) =>
      labels.some(({ outcomeLabel }) => outcomeLabel !== 'FALSE_POSITIVE'),
    );
    expect(frauds.length / payments.length).to.be.within(0.005, 0.01);
    for (const { at, event, labels } of lines) {
      if (event.event_type !== 'PAYMENT_AUTH') expect(labels).to.deep.equal([]);
      for (const { labelledAt, sourceEventId } of labels) {
        expect(sourceEventId).to.equal(event.source_event_id);
        expect(labelledAt).to.be.above(at);
        expect(labelledAt).to.be.at.most(at + 7 * DAY);
      }
    }
  });

  it('tells of frauds: payments abroad are frauds more often, and no payment says that it is one', () => {
    const share = (isAbroad: boolean): number => {
      const some = lines.filter(
        ({ event }) =>
          event.event_type === 'PAYMENT_AUTH' && (event.network?.['country'] === 'VN') === isAbroad,
      );
      return some.filter(({ labels }) => labels.length > 0).length / some.length;
    };
    expect(share(true)).to.be.above(4 * share(false));
    expect(share(true)).to.be.below(0.5);
  });
});
