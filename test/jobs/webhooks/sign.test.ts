import { expect } from 'chai';
import { createHmac } from 'node:crypto';
import { signedHeaders } from '../../../jobs/webhooks/sign.ts';
import { verifyWebhook } from '../../../docs/examples/verify-webhook.ts';

const AT = Date.parse('2026-03-01T00:00:02.120Z');
const BODY = Buffer.from('{"event_id":"evt_1","data":{"merkwürdig":"하나"}}');

const headersOf = (secrets: { current: string; previous?: string }): Record<string, string> => {
  const flat = signedHeaders(
    { eventId: 'evt_1', body: BODY, at: AT },
    { current: secrets.current, previous: secrets.previous },
  );
  const pairs = flat.flatMap((name, index) =>
    index % 2 === 0 ? [[name, flat[index + 1] ?? ''] as const] : [],
  );
  return Object.fromEntries(pairs);
};

describe('the signature of a webhook', () => {
  it('is the HMAC of timestamp, event id and raw body, as the contract words it', () => {
    const hmac = createHmac('sha256', 'secret-one');
    const expected = hmac.update(`2026-03-01T00:00:02.120Z.evt_1.${BODY.toString()}`).digest('hex');
    expect(headersOf({ current: 'secret-one' })).to.deep.equal({
      'x-service-event-id': 'evt_1',
      'x-service-timestamp': '2026-03-01T00:00:02.120Z',
      'x-service-signature': `v1=${expected}`,
    });
  });

  it('is made with the previous secret too while that one still signs', () => {
    const headers = headersOf({ current: 'secret-two', previous: 'secret-one' });
    expect(headers['x-service-signature-previous']).to.equal(
      headersOf({ current: 'secret-one' })['x-service-signature'],
    );
  });

  it('is accepted by the published example with either secret, and with no other', () => {
    const headers = headersOf({ current: 'secret-two', previous: 'secret-one' });
    for (const current of ['secret-one', 'secret-two']) {
      expect(verifyWebhook(headers, BODY, { current }, AT), current).to.equal(true);
    }
    expect(verifyWebhook(headers, BODY, { current: 'secret-three' }, AT)).to.equal(false);
    expect(verifyWebhook(headers, '{}', { current: 'secret-two' }, AT)).to.equal(false);
  });
});
