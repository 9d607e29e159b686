import { lettersOf, randomStream } from './random.ts';

/** Stand for what differs from event to event; each has the length of what replaces it. */
export const SLOTS = {
  id: 'ord-iiiiii-iiiiiiiiii',
  original: 'ord-oooooo-oooooooooo',
  card: 'tok_cccccccccccc',
  customer: 'cus_uuuuuuuuuuuu',
  device: 'dev_dddddddddddd',
  time: '2000-01-01T00:00:00.000Z',
} as const;

/** Name of a slot. */
export type Slot = keyof typeof SLOTS;

/** The lifecycle examples of the contract (section 2.2) with the share of each in ordinary traffic, in percent. */
const LIFECYCLE = [
  { event: 'PAYMENT_AUTH', type: 'AUTH', status: 'APPROVED', percent: 62 },
  { event: 'PAYMENT_AUTH', type: 'AUTH', status: 'DECLINED', percent: 7 },
  { event: 'PAYMENT_CAPTURE', type: 'PAYMENT', status: 'APPROVED', percent: 16 },
  { event: 'PAYMENT_CANCEL', type: 'CANCEL', status: 'CANCELED', percent: 4 },
  { event: 'PAYMENT_REFUND', type: 'REFUND', status: 'REVERSED', percent: 7 },
  { event: 'PAYMENT_CHARGEBACK', type: 'CHARGEBACK', status: 'APPROVED', percent: 1 },
  { event: 'PROFILE_UPSERT', type: 'AUTH', status: 'REQUESTED', percent: 3 },
] as const;

const COUNTRIES = ['KR', 'KR', 'KR', 'KR', 'KR', 'KR', 'US', 'JP', 'VN', 'SG'] as const;
const CHANNELS = ['ECOMMERCE', 'APP', 'APP', 'ECOMMERCE', 'POS'] as const;
const GOODS = [
  '러닝화 270',
  '무선 이어폰',
  'Coffee beans 1 kg',
  '겨울 코트',
  'Gift card',
  '키보드',
] as const;
const AGENTS = [
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Mobile',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/131.0.0.0',
  'ShopApp/7.42 (Android 15; SM-S928N)',
] as const;

/**
 * One valid event of about 1 KB with slots in it: what a mid-sized shop sends. Deterministic: the same seed and number
 * give the same shape.
 */
export function shapeOf(seed: number, number: number): Record<string, unknown> {
  const random = randomStream(seed * 7_919 + number);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const kind = lifecycleOf(random() * 100);
  const amount = Math.round(Math.exp(8 + random() * 5) / 100) * 100;
  const country = pick(COUNTRIES);
  const names =
    kind.event === 'PAYMENT_AUTH' || kind.event === 'PROFILE_UPSERT'
      ? {}
      : { original_event_id: SLOTS.original };
  return {
    schema_version: '1.0',
    source_event_id: SLOTS.id,
    occurred_at: SLOTS.time,
    sent_at: SLOTS.time,
    source_system: 'shop-backend',
    event_type: kind.event,
    merchant_external_id: `merchant-${lettersOf(Math.floor(random() ** 2 * 40), 4)}`,
    correlation_id: `checkout-${SLOTS.id}`,
    ...(kind.event === 'PROFILE_UPSERT' ? { profile_version: Math.floor(random() * 20) } : {}),
    transaction: {
      source_event_id: SLOTS.id,
      ...names,
      type: kind.type,
      status: kind.status,
      occurred_at: SLOTS.time,
      amount_minor: amount,
      currency: country === 'US' ? 'USD' : 'KRW',
      channel: pick(CHANNELS),
      installment_months: random() < 0.8 ? 0 : 3,
      auth_no_token: 'auth_' + lettersOf(Math.floor(random() * 1e9), 8),
      response_code: kind.status === 'DECLINED' ? '51' : '00',
      is_cross_border: country !== 'KR',
      requested_at: SLOTS.time,
      business_type: 'retail',
    },
    payment_method: {
      type: 'CARD',
      token: SLOTS.card,
      bin: '411111',
      last4: '1111',
      issuer_country: country,
    },
    order: {
      shipping_country: country,
      items: [
        { name: pick(GOODS), quantity: 1 + Math.floor(random() * 3), price_minor: amount },
        { name: pick(GOODS), quantity: 1, price_minor: 2_500 },
      ],
      coupon: random() < 0.2 ? 'WELCOME10' : '',
    },
    customer: {
      customer_id: SLOTS.customer,
      account_age_days: Math.floor(random() * 2_000),
      tier: 'silver',
    },
    device: {
      device_id: SLOTS.device,
      os: pick(['iOS', 'Android', 'Windows']),
      user_agent: pick(AGENTS),
    },
    session: { page_views: Math.floor(random() * 40), login: 'password_free' },
    network: { ip_prefix: `203.0.${Math.floor(random() * 256)}.0/24`, country },
  };
}

function lifecycleOf(percent: number): (typeof LIFECYCLE)[number] {
  let rest = percent;
  for (const kind of LIFECYCLE) {
    rest -= kind.percent;
    if (rest < 0) return kind;
  }
  return LIFECYCLE[0];
}
