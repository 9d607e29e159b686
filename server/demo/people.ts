import { hash } from 'node:crypto';
import { type Merchant, type Trade, TRADES } from './merchants.ts';
import type { Random } from './random.ts';

/** A card as merchants know it: a token and what may be known about it. */
export interface Card {
  readonly token: string;
  readonly bin: string;
  readonly last4: string;
  readonly issuerCountry: string;
}

/** Where a call came from. */
export interface Network {
  readonly ipPrefix: string;
  readonly country: string;
}

/** A phone, a computer or a terminal. */
export interface Device {
  readonly id: string;
  readonly platform: 'ios' | 'android' | 'web' | 'terminal';
}

/** Somebody with an account. */
export interface Person {
  readonly customerId: string;
  readonly accountAgeDays: number;
  readonly cards: readonly Card[];
  readonly devices: readonly Device[];
  /** The first is home. */
  readonly networks: readonly Network[];
  readonly country: string;
  /** How often this person pays, relative to the others. */
  readonly activity: number;
  readonly favourites: readonly Merchant[];
}

/**
 * Names for everything of one run. They hold the run's id, so that runs do not share histories: the same seed is
 * judged the same way at every run, instead of the second looking like everybody paid everything twice.
 */
export class Names {
  readonly #run: string;
  readonly #firstPrefix: number;
  #count = 0;
  #prefixes = 0;

  constructor(run: string) {
    this.#run = run;
    this.#firstPrefix = Number.parseInt(hash('sha256', run, 'hex').slice(0, 6), 16);
  }

  /** 12 hex digits, different at each call. */
  next(kind: string): string {
    this.#count += 1;
    return hash('sha256', `${this.#run}/${kind}/${this.#count}`, 'hex').slice(0, 12);
  }

  /** A /24 of the shared address space of carriers (RFC 6598), different at each call until 16,384 are used up. */
  prefix(): string {
    this.#prefixes += 1;
    const index = (this.#firstPrefix + this.#prefixes) % 16_384;
    return `100.${64 + Math.floor(index / 256)}.${index % 256}.0/24`;
  }
}

/** First digits of domestic and foreign cards; test ranges, none of them anybody's. */
const BINS = {
  KR: ['411111', '424242', '510510', '555555', '400000'],
  US: ['401288', '520082'],
  JP: ['353011', '356600'],
} as const;

/** A new card of an issuer. */
export function newCard(random: Random, names: Names, country: keyof typeof BINS): Card {
  return {
    token: `tok_${names.next('card')}`,
    bin: random.pick(BINS[country]),
    last4: String(random.whole(0, 9_999)).padStart(4, '0'),
    issuerCountry: country,
  };
}

/** A new device. */
export function newDevice(names: Names, platform: Device['platform']): Device {
  return { id: `${platform === 'terminal' ? 'term' : 'dev'}_${names.next('device')}`, platform };
}

/** The merchants of a run. */
export function createMerchants(names: Names): Merchant[] {
  return TRADES.map((each: Trade) => ({
    ...each,
    externalId: `${each.code}-${names.next('merchant').slice(0, 6)}`,
    terminals: each.channels.includes('POS')
      ? Array.from({ length: 4 }, () => newDevice(names, 'terminal').id)
      : [],
    ipPrefix: names.prefix(),
  }));
}

/** Some people with accounts; the busiest pay about five times as often as most. */
export function createPeople(
  random: Random,
  names: Names,
  count: number,
  merchants: readonly Merchant[],
): Person[] {
  const carriers = Array.from({ length: Math.max(6, Math.round(count / 16)) }, () =>
    names.prefix(),
  );
  return Array.from({ length: count }, () => createPerson(random, names, merchants, carriers));
}

function createPerson(
  random: Random,
  names: Names,
  merchants: readonly Merchant[],
  carriers: readonly string[],
): Person {
  const country = random.weighted(['KR', 'US', 'JP'] as const, (_, i) => [96, 2, 2][i] ?? 0);
  // A few travel: their own cards, from somewhere else.
  const away = random.chance(0.015) ? random.pick(['JP', 'US', 'VN', 'TH']) : country;
  const phone = newDevice(names, random.chance(0.4) ? 'ios' : 'android');
  return {
    customerId: `cus_${names.next('customer')}`,
    accountAgeDays: random.chance(0.03)
      ? random.whole(0, 2)
      : Math.min(4_000, 3 + Math.round(random.logNormal(420, 1.1))),
    cards: Array.from({ length: random.chance(0.3) ? 2 : 1 }, () =>
      newCard(random, names, country),
    ),
    devices: random.chance(0.45) ? [phone, newDevice(names, 'web')] : [phone],
    networks: [
      { ipPrefix: names.prefix(), country: away },
      { ipPrefix: away === country ? random.pick(carriers) : names.prefix(), country: away },
    ],
    country,
    // More than a dozen payments a day are rarer than one in a few hundred people.
    activity: Math.min(5, random.logNormal(1, 0.7)),
    favourites: Array.from({ length: random.whole(2, 5) }, () =>
      random.weighted(merchants, (merchant) => merchant.popularity),
    ),
  };
}
