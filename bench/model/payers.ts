import { lettersOf, randomStream } from '../random.ts';

/** A card with its owner's habits. The same number of the same seed is always the same. */
export interface Payer {
  readonly card: string;
  readonly customer: string;
  readonly device: string;
  readonly ipPrefix: string;
  readonly country: string;
  readonly currency: string;
  /** What is usually paid, minor units. */
  readonly amount: number;
  /** The merchants that are usually paid, by number. */
  readonly merchants: readonly number[];
  readonly accountAgeDays: number;
}

const COUNTRIES = ['KR', 'KR', 'KR', 'KR', 'KR', 'US', 'JP', 'SG'] as const;

/** The payer of a number, paying at some of so many merchants. */
export function payerOf(seed: number, number: number, merchants: number): Payer {
  const random = randomStream(seed * 31 + number * 2_654_435);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const country = pick(COUNTRIES);
  return {
    card: `tok_${lettersOf(number, 12)}`,
    // Some own two cards, some share a device.
    customer: `cus_${lettersOf(Math.floor(number / 1.2), 12)}`,
    device: `dev_${lettersOf(Math.floor(number / 1.5), 12)}`,
    ipPrefix: prefixOf(Math.floor(number / 3)),
    country,
    currency: country === 'US' ? 'USD' : 'KRW',
    amount: Math.exp(7.5 + random() * 3.5),
    merchants: Array.from({ length: 2 + Math.floor(random() * 5) }, () =>
      Math.floor(random() ** 2 * merchants),
    ),
    accountAgeDays: Math.floor(random() ** 2 * 3_000),
  };
}

/** The network of a number; there are 60,000. */
export function prefixOf(number: number): string {
  return `${11 + (Math.floor(number / 60_000) % 80)}.${Math.floor(number / 256) % 235}.${number % 256}.0/24`;
}
