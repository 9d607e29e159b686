import { expect } from 'chai';
import { EventSource } from '../../bench/events.ts';
import { findForbidden } from '../../contract/forbidden-data.ts';
import { findJsonProblem } from '../../contract/json-limits.ts';
import { TransactionEvent } from '../../contract/transaction.ts';
import {
  crossFieldProblems,
  customerTypeProblems,
  namesAnOriginal,
} from '../../contract/transaction-rules.ts';

const AT = Date.UTC(2026, 2, 1, 9);

describe('events of the bench', () => {
  it('every one is accepted by the contract and holds nothing forbidden', () => {
    const source = new EventSource({ seed: 20_260, sites: 20 });
    for (let number = 0; number < 2_000; number += 1) {
      const raw: unknown = JSON.parse(source.event(number, AT).body.toString('utf8'));
      const event = TransactionEvent.parse(raw);
      expect(crossFieldProblems(event)).to.deep.equal([]);
      expect(customerTypeProblems(event, 'MULTI_MERCHANT')).to.deep.equal([]);
      expect(findJsonProblem(raw)).to.equal(undefined);
      expect(findForbidden(raw)).to.deep.equal([]);
    }
  });

  it('they are about 1 KB, or as large as asked', () => {
    const source = new EventSource({ seed: 1, sites: 4 });
    const sizes = Array.from({ length: 500 }, (_, number) => source.event(number, AT).body.length);
    const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
    expect(mean).to.be.within(950, 1_350);
    const large = new EventSource({ seed: 1, sites: 4, padToBytes: 256 * 1024 });
    expect(large.event(0, AT).body.length).to.equal(256 * 1024);
  });

  it('the same seed, number and time give the same bytes, another number another id', () => {
    const [one, two] = [
      new EventSource({ seed: 5, sites: 4 }),
      new EventSource({ seed: 5, sites: 4 }),
    ];
    expect(one.event(77, AT).body.equals(two.event(77, AT).body)).to.equal(true);
    const ids = new Set(
      Array.from({ length: 5_000 }, (_, number) => one.event(number, AT).sourceEventId),
    );
    expect(ids.size).to.equal(5_000);
  });

  it('scattered ids are as distinct as ascending ones, and in no order', () => {
    const source = new EventSource({ seed: 5, sites: 4, scatteredIds: true });
    const ids = Array.from({ length: 5_000 }, (_, number) => source.idOf(1_000_000 + number));
    expect(new Set(ids).size).to.equal(ids.length);
    const rising = ids.filter((id, at) => at > 0 && id > (ids[at - 1] ?? '')).length;
    expect(rising / ids.length).to.be.within(0.2, 0.8);
    expect(ids.every((id) => id.startsWith(source.idPrefix))).to.equal(true);
  });

  it('a reversal names an earlier event of the same Site', () => {
    const sites = 4;
    const source = new EventSource({ seed: 9, sites });
    let reversals = 0;
    for (let number = 400; number < 1_400; number += 1) {
      const event = TransactionEvent.parse(
        JSON.parse(source.event(number, AT).body.toString('utf8')),
      );
      if (!namesAnOriginal(event)) continue;
      reversals += 1;
      const earlier = Array.from({ length: number }, (_, n) => n).filter(
        (n) => n % sites === number % sites,
      );
      expect(earlier.map((n) => source.idOf(n))).to.include(event.transaction.original_event_id);
    }
    expect(reversals).to.be.within(60, 240);
  });
});
