import { writeOf } from '../events.ts';
import type { Credential } from '../probe.ts';
import { casesOf, SUBMIT, type Bench, type Case } from './case.ts';

/** The combinations of the contract's section 2.2, in the life of one payment. */
const LIFE = [
  { event_type: 'PAYMENT_AUTH', type: 'AUTH', status: 'APPROVED' },
  { event_type: 'PAYMENT_CAPTURE', type: 'PAYMENT', status: 'APPROVED' },
  { event_type: 'PAYMENT_CANCEL', type: 'CANCEL', status: 'CANCELED' },
  { event_type: 'PAYMENT_REFUND', type: 'REFUND', status: 'REVERSED' },
  { event_type: 'PAYMENT_CHARGEBACK', type: 'CHARGEBACK', status: 'APPROVED' },
] as const;

/** Every lifecycle example is accepted. Uses 5 events of the quota. */
export function lifecycleCases({ probe, events }: Bench, production: Credential): Case[] {
  const original = events.event();
  return LIFE.map(({ event_type, type, status }) =>
    casesOf('lifecycle', 'submitTransaction')(`${event_type} with ${type}/${status}`, async () => {
      const event =
        type === 'AUTH'
          ? original
          : events.event(
              { event_type },
              { type, status, original_event_id: original['source_event_id'] },
            );
      const call = { ...SUBMIT, ...writeOf(event) };
      await probe.call('submitTransaction', production, call, { status: 202 });
    }),
  );
}
