import { expect } from 'chai';
import type { TransactionEvent } from '../../contract/transaction.ts';
import { ENTITY_KINDS } from '../../risk/entities.ts';
import type { RiskEvent } from '../../risk/event.ts';
import { FEATURES } from '../../risk/features/definitions.ts';
import { featureValue } from '../../risk/features/vector.ts';
import { make, randomSource, START } from './events.ts';
import { History } from './history.ts';
import { expectedFeatures } from './oracle.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** More with FEATURE_STREAMS=10000, which takes a minute. */
const STREAMS = Number(process.env['FEATURE_STREAMS'] ?? 100);

const EVENT_TYPES: TransactionEvent['event_type'][] = [
  ...Array.from({ length: 9 }, () => 'PAYMENT_AUTH' as const),
  'PAYMENT_CAPTURE',
  'PAYMENT_CANCEL',
  'PAYMENT_REFUND',
  'PAYMENT_CHARGEBACK',
];
const STATUSES = ['APPROVED', 'APPROVED', 'APPROVED', 'DECLINED', 'DECLINED', 'PENDING'] as const;

describe('features', () => {
  it(`equal a naive recomputation on ${STREAMS} random streams, late and same-second events included`, () => {
    for (let seed = 1; seed <= STREAMS; seed++) checkStream(seed);
  }).timeout(5_000 + STREAMS * 50);

  it('leave no definition of an entity unchecked by the recomputation', () => {
    const event = make({ card: 'c', customer: 'u', device: 'd', ipPrefix: 'i' });
    const checked = ENTITY_KINDS.flatMap((kind) => Object.keys(expectedFeatures(kind, [], event)));
    const others = FEATURES.map(({ name }) => name).filter((name) => !checked.includes(name));
    expect(others.filter((name) => !/_confirmed$|_false_positive$/.test(name))).to.deep.equal([
      'original_known',
      'account_age_days',
    ]);
  });
});

function checkStream(seed: number): void {
  const random = randomSource(seed);
  const events = randomStream(random);
  const history = new History();
  for (const [index, event] of events.entries()) {
    const features = history.featuresOf(event);
    for (const { kind, key } of event.entities) {
      const earlier = events.slice(0, index).filter((other) => other.keys[kind] === key);
      for (const [name, value] of Object.entries(expectedFeatures(kind, earlier, event))) {
        if (featureValue(features, name) !== value) {
          expect.fail(
            `stream ${seed}, event ${index}: ${name} is ${featureValue(features, name)}, expected ${value}`,
          );
        }
      }
    }
    history.add(event);
  }
}

function randomStream(random: (below: number) => number): RiskEvent[] {
  const few = 1 + random(4);
  const name = (prefix: string): string | undefined =>
    random(8) === 0 ? undefined : `${prefix}${random(few)}`;
  let now = START + random(DAY);
  const steps = [0, 1, 999, 5_000, 10_000, MINUTE, 20 * MINUTE, 3 * HOUR, DAY, 9 * DAY];
  const latenesses = [0, 0, 0, 0, 30_000, 2 * MINUTE, HOUR, 30 * HOUR, 8 * DAY, 60 * DAY];
  return Array.from({ length: 20 + random(40) }, () => {
    now += steps[random(steps.length)] ?? 0;
    const late = latenesses[random(latenesses.length)] ?? 0;
    const names = {
      card: name('c'),
      customer: name('u'),
      device: name('d'),
      ipPrefix: name('i'),
    };
    return make({
      at: now - late,
      eventType: EVENT_TYPES[random(EVENT_TYPES.length)] ?? 'PAYMENT_AUTH',
      status: STATUSES[random(STATUSES.length)] ?? 'APPROVED',
      amount: random(4) === 0 ? 0 : random(1_000_000),
      currency: ['KRW', 'USD', 'JPY'][random(3)] ?? 'KRW',
      merchant: `m${random(few)}`,
      ...Object.fromEntries(Object.entries(names).filter(([, value]) => value !== undefined)),
    });
  });
}
