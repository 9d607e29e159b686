import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { expectBody } from '../../support/bodies.ts';
import { eventOf } from '../../support/merchant.ts';
import { ruleBench } from '../../support/rules.ts';

/** The used combinations of section 2.2; all but the first two name the payment they follow. */
const STEPS = [
  ['PAYMENT_AUTH', 'AUTH', 'APPROVED'],
  ['PAYMENT_CAPTURE', 'PAYMENT', 'APPROVED'],
  ['PAYMENT_CANCEL', 'CANCEL', 'CANCELED'],
  ['PAYMENT_REFUND', 'REFUND', 'REVERSED'],
  ['PAYMENT_CHARGEBACK', 'CHARGEBACK', 'APPROVED'],
] as const;

describe('the lifecycle examples of section 2.2', () => {
  const bench = ruleBench();

  it('are accepted as separate events and each is evaluated', async () => {
    const original = eventOf();
    const originalId = String(original['source_event_id']);
    const ingestions: string[] = [];
    for (const [event_type, type, status] of STEPS) {
      const first = event_type === 'PAYMENT_AUTH';
      const event = first
        ? original
        : eventOf({
            event_type,
            transaction: { type, status, original_event_id: originalId },
          });
      const accepted = await bench.caller().submit(event);
      expectBody(accepted, 202, 'AcceptedIngestion');
      ingestions.push(String(accepted.body.ingestion_id));
    }
    expect(new Set(ingestions)).to.have.length(STEPS.length);
    for (const id of ingestions) {
      const evaluated = await bench.caller().evaluated(id);
      expectBody(evaluated, 200, 'IngestionStatus');
      expect(evaluated.body.risk).to.not.equal(null);
    }
    expectBody(
      await bench.caller().label(originalId, { outcome_label: 'CHARGEBACK_CONFIRMED' }),
      202,
      'OutcomeLabelAccepted',
    );
  });

  it('an event and its labels do not change the original', async () => {
    const original = eventOf();
    const id = String(original['source_event_id']);
    const { body } = await bench.caller().submit(original);
    const before = (await bench.caller().evaluated(String(body.ingestion_id))).body;
    await bench.caller().submit(
      eventOf({
        event_type: 'PAYMENT_REFUND',
        transaction: { type: 'REFUND', status: 'REVERSED', original_event_id: id },
      }),
    );
    await bench.caller().label(id, { outcome_label: 'FRAUD_CONFIRMED' });
    const after = (await bench.caller().ingestion(String(body.ingestion_id))).body;
    expect({ ...after, request_id: '' }).to.deep.equal({ ...before, request_id: '' });
  });

  it('an event may come before the payment it refers to', async () => {
    const refund = eventOf({
      event_type: 'PAYMENT_REFUND',
      transaction: { type: 'REFUND', status: 'REVERSED', original_event_id: 'comes-later' },
    });
    const accepted = await bench.caller().submit(refund);
    expectBody(accepted, 202, 'AcceptedIngestion');
    await bench.caller().evaluated(String(accepted.body.ingestion_id));
    expectBody(
      await bench.caller().submit(eventOf({ source_event_id: 'comes-later' })),
      202,
      'AcceptedIngestion',
    );
  });

  it('a status before the evaluation has no risk, and one after it has', async () => {
    const { body } = await bench.caller().submit(eventOf());
    const statuses = new Set<string>();
    for (const deadline = performance.now() + 30_000; performance.now() < deadline;) {
      const answer = await bench.caller().ingestion(String(body.ingestion_id));
      expectBody(answer, 200, 'IngestionStatus');
      const { evaluation_status: status, risk } = answer.body;
      expect(risk === null, status).to.equal(status !== 'SUCCEEDED');
      statuses.add(status);
      if (status === 'SUCCEEDED') break;
      await sleep(20);
    }
    expect(statuses).to.include('SUCCEEDED');
  });
});
