/*
 * Bodies for measuring what the forbidden-data scan costs.
 */

/** Bytes of the largest body that is accepted. */
export const BODY = 256 * 1024;

/** Values of `size` characters that make a careless scanner look twice at everything. */
export const HOSTILE: Record<string, (size: number) => unknown> = {
  'single digits': (size) => '1 '.repeat(size / 2),
  'groups of four': (size) => '4111 '.repeat(size / 5),
  'cards that fail': (size) => '4111111111111112 '.repeat(size / 17),
  'cards inside hashes': (size) => `${'f'.repeat(24)}4111111111111111`.repeat(size / 40),
  'one endless number': (size) => '4'.repeat(size),
  'dotted numbers': (size) => '1.'.repeat(size / 2),
  versions: (size) => 'a/1.2.3.4 '.repeat(size / 10),
  colons: (size) => '1:2:3:4:5:6:7 '.repeat(size / 14),
  'double colons': (size) => '::'.repeat(size / 2),
  'hexadecimal letters': (size) => 'a1'.repeat(size / 2),
  'IBANs that fail': (size) => 'DE89 3704 0044 0532 0130 01 '.repeat(size / 28),
  'track beginnings': (size) => ';123456789012'.repeat(size / 13),
  labels: (size) => 'account number 1 2 3 4 5 6'.repeat(size / 26),
  'password labels': (size) => 'password = '.repeat(size / 11),
  'numbered keys': (size) =>
    Object.fromEntries(
      Array.from({ length: Math.floor(size / 64) }, (_, i) => [
        `card_Num-ber.xAyB_zCaBcDeF${i}_0123456789012345678`,
        1,
      ]),
    ),
};

/** An event as merchants send it, about 1 KB. */
export const ORDINARY_EVENT = {
  source_event_id: 'order-20260301-000017',
  occurred_at: '2026-03-01T09:00:00+09:00',
  correlation_id: '550e8400-e29b-41d4-a716-446655440000',
  transaction: {
    type: 'AUTH',
    amount_minor: 129000,
    currency: 'KRW',
    tid: 'TID2026030109000000017',
  },
  payment_method: {
    type: 'CARD',
    token: 'tok_8f14e45fceea167a5a36dedd4bea2543',
    bin: '411111',
    last4: '1111',
  },
  device: {
    user_agent:
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36',
  },
  network: { ip_prefix: '203.0.113.0/24', country: 'KR' },
  order: {
    items: [{ sku: 'A-1', name: '무선 이어폰', price: 129000 }],
    note: '문 앞에 두세요. '.repeat(20),
  },
};
