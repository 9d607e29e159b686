import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { isDuplicate, verifyWebhook } from '../../docs/examples/verify-webhook.ts';
import { PHP, PYTHON } from '../support/languages.ts';

const NOW = Date.parse('2026-03-01T00:00:00Z');
const HOUR = 60 * 60 * 1000;
const BODY = '{"a":"ü"}';

/** A delivery as it arrives, and what its receiver knows. */
interface Delivery {
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly current: string;
  readonly previous?: string;
  readonly replacedAt?: number;
}

const at = (minutes: number): string => new Date(NOW + minutes * 60_000).toISOString();

/** The headers of a delivery, one signature for each of the given secrets. */
function signed(minutes: number, secret: string, previous?: string): Record<string, string> {
  const signature = (key: string): string =>
    `v1=${createHmac('sha256', key)
      .update(`${at(minutes)}.e-1.${BODY}`)
      .digest('hex')}`;
  return {
    'x-service-event-id': 'e-1',
    'x-service-timestamp': at(minutes),
    'x-service-signature': signature(secret),
    ...(previous === undefined ? {} : { 'x-service-signature-previous': signature(previous) }),
  };
}

const delivery = (headers: Record<string, string>, known: Partial<Delivery> = {}): Delivery => ({
  headers,
  body: BODY,
  current: 'new',
  ...known,
});
const replaced = (hoursAgo: number): Partial<Delivery> => ({
  previous: 'old',
  replacedAt: NOW - hoursAgo * HOUR,
});
const genuine = signed(0, 'new');

const CASES: Record<string, [accepted: boolean, Delivery]> = {
  'a genuine delivery': [true, delivery(genuine)],
  'one signed 4.9 minutes ago': [true, delivery(signed(-4.9, 'new'))],
  'one of a clock 4.9 minutes ahead': [true, delivery(signed(4.9, 'new'))],
  'one replayed after 5.1 minutes': [false, delivery(signed(-5.1, 'new'))],
  'one of a clock 5.1 minutes ahead': [false, delivery(signed(5.1, 'new'))],
  'another body': [false, delivery(genuine, { body: '{"a":"u"}' })],
  'another event id': [false, delivery({ ...genuine, 'x-service-event-id': 'e-2' })],
  'another timestamp': [false, delivery({ ...genuine, 'x-service-timestamp': at(1) })],
  'another secret': [false, delivery(signed(0, 'other', 'other'), replaced(1))],
  'the previous secret 23.9 hours after its replacement': [
    true,
    delivery(signed(0, 'other', 'old'), replaced(23.9)),
  ],
  'the previous secret 24.1 hours after its replacement': [
    false,
    delivery(signed(0, 'other', 'old'), replaced(24.1)),
  ],
  'the previous secret without a known replacement': [
    false,
    delivery(signed(0, 'other', 'old'), { previous: 'old' }),
  ],
  'the previous secret in the header of the current one': [
    false,
    delivery(signed(0, 'old'), replaced(1)),
  ],
  'both signatures, where the new secret has not arrived yet': [
    true,
    delivery(signed(0, 'new', 'old'), { current: 'old' }),
  ],
  'an empty previous secret': [
    false,
    delivery(signed(0, 'other', ''), { previous: '', replacedAt: NOW }),
  ],
  'no headers': [false, delivery({})],
  'no signature': [false, delivery({ 'x-service-event-id': 'e-1', 'x-service-timestamp': at(0) })],
  'a signature in letters of another alphabet': [
    false,
    delivery({ ...genuine, 'x-service-signature': 'é'.repeat(67) }),
  ],
  'a signature without its version': [
    false,
    delivery({ ...genuine, 'x-service-signature': genuine['x-service-signature']?.slice(3) ?? '' }),
  ],
  'a timestamp that is none': [false, delivery({ ...genuine, 'x-service-timestamp': 'soon' })],
};

const deliveries = Object.entries(CASES).map(([name, [accepted, given]]) => ({
  name,
  accepted,
  given,
}));
const expected = deliveries.map(({ name, accepted }) => [name, accepted]);

describe('the examples for receivers of webhooks', () => {
  it('TypeScript: genuine deliveries alone are accepted', () => {
    const judged = deliveries.map(({ name, given: { headers, body, ...secrets } }) => [
      name,
      verifyWebhook(headers, body, secrets, NOW),
    ]);
    expect(judged).to.deep.equal(expected);
    expect(verifyWebhook(genuine, Buffer.from(BODY), { current: 'new' }, NOW)).to.equal(true);
    expect(verifyWebhook(genuine, BODY, { current: 'new' })).to.equal(false);
  });

  it('TypeScript: an event id is new once, and forgotten after a week', () => {
    const seen = new Map<string, number>();
    const judged = [0, 1, 100, 169].map((hours) => isDuplicate('e-1', seen, NOW + hours * HOUR));
    expect(judged).to.deep.equal([false, true, true, false]);
    expect(isDuplicate('e-2', seen, NOW)).to.equal(false);
  });

  const seconds = deliveries.map(
    ({ name, given: { replacedAt = 0, previous = null, ...given } }) => {
      return { name, ...given, previous, replacedAt: replacedAt / 1000, now: NOW / 1000 };
    },
  );

  (PYTHON.installed ? it : it.skip)('Python: the same, where python3 is installed', async () => {
    const code = `
seen = {}
output = [
    [[c["name"], verify_webhook(c["headers"], c["body"].encode(), c["current"], c["previous"], c["replacedAt"], c["now"])] for c in input],
    [is_duplicate("e-1", seen, hours * 3600) for hours in (0, 1, 100, 169)],
]`;
    const output = await PYTHON.run('verify_webhook', code, seconds);
    expect(output).to.deep.equal([expected, [false, true, true, false]]);
  });

  (PHP.installed ? it : it.skip)('PHP: the same, where php is installed', async () => {
    const code = `$output = array_map(fn($c) => [$c['name'], verify_webhook(
      $c['headers'], $c['body'], $c['current'], $c['previous'], $c['replacedAt'], $c['now'])], $input);`;
    expect(await PHP.run('verify_webhook', code, seconds)).to.deep.equal(expected);
  });
});
