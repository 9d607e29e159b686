import { expect } from 'chai';
import { findForbidden } from '../../contract/forbidden-data.ts';
import { findJsonProblem } from '../../contract/json-limits.ts';
import { crossFieldProblems, customerTypeProblems } from '../../contract/transaction-rules.ts';
import { EventType, TransactionEvent } from '../../contract/transaction.ts';
import { PATTERNS } from '../../server/demo/draft.ts';
import { createTraffic, type PlannedEvent } from '../../server/demo/traffic.ts';

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 2, 10, 12);
const OPTIONS = { seed: 'test', run: 'r4nd0m', events: 2_000, endsAt: NOON };

/** Days that end at other hours, with other seeds and sizes. */
const DAYS = [0, 3, 6, 9, 12, 15, 18, 21].map((hour, index) => ({
  ...OPTIONS,
  seed: `seed ${hour}`,
  events: [200, 300, 700, 1_000, 1_500, 2_000, 4_000, 2_000][index] ?? 2_000,
  endsAt: Date.UTC(2026, 2, 10, hour, 17),
}));

describe('the traffic of the demo', () => {
  let traffic: readonly PlannedEvent[];

  before(() => {
    traffic = createTraffic(OPTIONS);
  });

  it('is the same for the same options, and another for another seed', () => {
    expect(createTraffic(OPTIONS)).to.deep.equal(traffic);
    expect(createTraffic({ ...OPTIONS, seed: 'other' })).to.not.deep.equal(traffic);
  });

  it('differs in names only for another run of the same seed', () => {
    const shapeOf = ({ truth, label, event: { event_type: type, transaction } }: PlannedEvent) => {
      const { occurred_at: at, amount_minor: amount, status, channel } = transaction;
      return { truth, label, type, at, amount, status, channel };
    };
    const other = createTraffic({ ...OPTIONS, run: '0th3r' });
    expect(other.map(shapeOf)).to.deep.equal(traffic.map(shapeOf));
    const namesOf = ({ id, event }: PlannedEvent) =>
      [
        id,
        event.merchant_external_id,
        event.payment_method?.token,
        event.customer?.['customer_id'],
        event.device?.['device_id'],
        event.network?.['ip_prefix'],
      ].filter((name) => name !== undefined);
    const names = new Set(traffic.flatMap(namesOf));
    expect(other.flatMap(namesOf).filter((name) => names.has(name))).to.deep.equal([]);
  });

  it('satisfies the contract in every event and holds no forbidden data, whenever the day ends', () => {
    for (const day of DAYS) {
      for (const { event } of createTraffic(day)) {
        const problems = [
          ...(TransactionEvent.safeParse(event).error?.issues ?? []),
          ...crossFieldProblems(event),
          ...customerTypeProblems(event, 'MULTI_MERCHANT'),
          ...findForbidden(event),
          findJsonProblem(event),
        ].filter((problem) => problem !== undefined);
        expect(problems, JSON.stringify(event)).to.deep.equal([]);
      }
    }
  });

  it('has exactly as many events as asked for, with unique ids, in their order, within the last 24 hours', () => {
    for (const day of DAYS) {
      const planned = createTraffic(day);
      expect(planned).to.have.length(day.events);
      const ids = planned.flatMap(({ id, event }) => [...new Set([id, event.source_event_id])]);
      expect(new Set(ids).size).to.equal(ids.length);
      const times = planned.map(({ event }) => Date.parse(event.transaction.occurred_at));
      expect(times).to.deep.equal(times.toSorted((a, b) => a - b));
      expect(times[0]).to.be.at.least(day.endsAt - 24 * HOUR - 10_000);
      const sent = planned.map(({ event }) => Date.parse(event.sent_at));
      expect(Math.max(...sent)).to.be.at.most(day.endsAt);
    }
  });

  it('holds all six types and every planted fraud, whenever the day ends', () => {
    for (const day of DAYS) {
      const planned = createTraffic(day);
      const types = new Set(planned.map(({ event }) => event.event_type));
      expect([...types], `ends at ${new Date(day.endsAt).toISOString()}`).to.have.members(
        EventType.options,
      );
      for (const pattern of PATTERNS) {
        const events = planned.filter(
          ({ truth }) => truth.kind === 'fraud' && truth.pattern === pattern,
        );
        expect(events.length, `${pattern} in ${day.seed}`).to.be.at.least(3);
      }
    }
  });

  it('names an original that was sent before, by its lasting id, and never more money than it moved', () => {
    const earlier = new Map<string, PlannedEvent>();
    let references = 0;
    for (const planned of traffic) {
      const { original_event_id: originalId, amount_minor: amount } = planned.event.transaction;
      if (originalId !== undefined) {
        references += 1;
        const original = earlier.get(originalId)?.event;
        expect(original, originalId).to.not.equal(undefined);
        expect(original?.event_type).to.equal('PAYMENT_AUTH');
        expect(original?.transaction.status).to.equal('APPROVED');
        expect(amount).to.be.at.most(original?.transaction.amount_minor ?? 0);
        expect(original?.merchant_external_id).to.equal(planned.event.merchant_external_id);
      }
      earlier.set(planned.id, planned);
    }
    expect(references).to.be.greaterThan(500);
  });

  it('is a crowd: hundreds of cards, customers, devices and networks at a dozen merchants', () => {
    const distinct = (nameOf: (event: TransactionEvent) => unknown) =>
      new Set(traffic.map(({ event }) => nameOf(event)).filter((name) => name !== undefined)).size;
    expect(distinct((event) => event.payment_method?.token)).to.be.greaterThan(300);
    expect(distinct((event) => event.customer?.['customer_id'])).to.be.greaterThan(200);
    expect(distinct((event) => event.device?.['device_id'])).to.be.greaterThan(200);
    expect(distinct((event) => event.network?.['ip_prefix'])).to.be.greaterThan(150);
    expect(distinct((event) => event.merchant_external_id)).to.equal(12);
    expect(distinct((event) => event.transaction.currency)).to.equal(2);
  });

  it('is ordinary for the most part, and busier at noon than at night', () => {
    const ordinary = traffic.filter(({ truth }) => truth.kind === 'ordinary');
    expect(ordinary.length / traffic.length).to.be.greaterThan(0.9);
    const during = (from: number, to: number) =>
      ordinary.filter(({ event }) => {
        const hour = Number(event.transaction.occurred_at.slice(11, 13));
        return hour >= from && hour < to;
      }).length;
    expect(during(11, 15)).to.be.greaterThan(4 * during(1, 5));
  });
});
