import { expect } from 'chai';
import type { TransactionEvent } from '../../contract/transaction.ts';
import { ENTITY_KINDS, type EntityRef } from '../../risk/entities.ts';
import type { RiskEvent } from '../../risk/event.ts';
import type { EntityLabels, LabelDay } from '../../risk/labels.ts';
import { FEATURES } from '../../risk/features/definitions.ts';
import { featureValue } from '../../risk/features/vector.ts';
import { make, randomSource, START } from './events.ts';
import { History } from './history.ts';
import { expectedFeatures, type SentLabel } from './oracle.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** More by environment, for those who have the time: 10,000 take 80 s of a processor. */
const STREAMS = Number(process.env['FEATURE_STREAMS'] ?? 500);

const EVENT_TYPES: TransactionEvent['event_type'][] = [
  ...Array.from({ length: 9 }, () => 'PAYMENT_AUTH' as const),
  'PAYMENT_CAPTURE',
  'PAYMENT_CANCEL',
  'PAYMENT_REFUND',
  'PAYMENT_CHARGEBACK',
];
const OUTCOMES = ['FRAUD_CONFIRMED', 'CHARGEBACK_CONFIRMED', 'FALSE_POSITIVE'] as const;
const STATUSES = ['APPROVED', 'APPROVED', 'APPROVED', 'DECLINED', 'DECLINED', 'PENDING'] as const;

describe('features', () => {
  it(`equal a naive recomputation on ${STREAMS} random streams, late and same-second events included`, () => {
    for (let seed = 1; seed <= STREAMS; seed++) checkStream(seed);
  }).timeout(5_000 + STREAMS * 50);

  it('leave no definition of an entity unchecked by the recomputation', () => {
    const event = make({ card: 'c', customer: 'u', device: 'd', ipPrefix: 'i' });
    const checked = ENTITY_KINDS.flatMap((kind) => Object.keys(expectedFeatures(kind, [], event)));
    const others = FEATURES.map(({ name }) => name).filter((name) => !checked.includes(name));
    expect(others.filter((name) => !name.startsWith('event_'))).to.deep.equal([
      'original_known',
      'account_age_days',
    ]);
    expect(checked.filter((name) => !FEATURES.some((each) => each.name === name))).to.deep.equal(
      [],
    );
  });

  it('of the event itself are what it says', () => {
    // Sunday, 2026-03-01, 00:00 UTC.
    const features = new History().featuresOf(
      make({ amount: 1_234, currency: 'EUR', status: 'DECLINED', channel: 'POS' }),
    );
    const read = (name: string): number | undefined => featureValue(features, `event_${name}`);
    expect(read('amount')).to.equal(1_234);
    expect(read('currency')).to.equal((4 * 26 + 20) * 26 + 17);
    expect(read('status')).to.equal(2);
    expect(read('channel')).to.equal(2);
    expect(read('hour')).to.equal(0);
    expect(read('weekday')).to.equal(6);
    expect(read('installments')).to.equal(0);
    expect(read('cross_border')).to.equal(0);
    expect(read('issuer_differs_from_network')).to.equal(undefined);
  });
});

function checkStream(seed: number): void {
  const random = randomSource(seed);
  const events = randomStream(random);
  const history = new History();
  const sent: SentLabel[] = [];
  for (const [index, event] of events.entries()) {
    const features = history.featuresOf(event, (ref) => labelsOf(sent, ref));
    for (const { kind, key } of event.entities) {
      const earlier = events.slice(0, index).filter((other) => other.keys[kind] === key);
      const arrived = sent.filter((label) => label.event.keys[kind] === key);
      const expected = expectedFeatures(kind, earlier, event, arrived);
      for (const [name, value] of Object.entries(expected)) {
        if (featureValue(features, name) !== value) {
          expect.fail(
            `stream ${seed}, event ${index}: ${name} is ${featureValue(features, name)}, expected ${value}`,
          );
        }
      }
    }
    history.add(event);
    while (random(4) === 0) {
      const labelled = events[random(index + 1)] ?? event;
      const delay = [0, HOUR, 3 * DAY, 7 * DAY, 20 * DAY, 50 * DAY][random(6)] ?? 0;
      sent.push({
        event: labelled,
        outcome: OUTCOMES[random(OUTCOMES.length)] ?? 'FRAUD_CONFIRMED',
        arrivedAt: labelled.at + delay,
      });
    }
  }
}

/** The labels of an entity as the ledger adds them up by day of arrival. */
function labelsOf(sent: readonly SentLabel[], { kind, key }: EntityRef): EntityLabels | undefined {
  const own = sent.filter(({ event }) => event.keys[kind] === key);
  if (own.length === 0) return undefined;
  const count = (outcome: string): number => own.filter((l) => l.outcome === outcome).length;
  const days = Map.groupBy(own, ({ arrivedAt }) => Math.floor(arrivedAt / DAY));
  return {
    fraudConfirmed: count('FRAUD_CONFIRMED'),
    chargebackConfirmed: count('CHARGEBACK_CONFIRMED'),
    falsePositive: count('FALSE_POSITIVE'),
    days: [...days].map(([day, labels]): LabelDay => {
      const frauds = labels.filter(({ outcome }) => outcome !== 'FALSE_POSITIVE');
      const instants = frauds.map(({ event }) => event.at);
      return {
        day,
        frauds: frauds.length,
        falsePositives: labels.length - frauds.length,
        firstFraudAt: frauds.length === 0 ? 0 : Math.min(...instants),
        lastFraudAt: frauds.length === 0 ? 0 : Math.max(...instants),
        delaySeconds: frauds.reduce(
          (sum, { event, arrivedAt }) => sum + Math.round((arrivedAt - event.at) / 1000),
          0,
        ),
      };
    }),
  };
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
