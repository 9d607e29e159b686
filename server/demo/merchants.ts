import type { Channel } from '../../contract/transaction.ts';
import type { Random } from './random.ts';

/** What a merchant of the demo sells and how it is paid. */
export interface Trade {
  readonly code: string;
  readonly businessType: string;
  readonly currency: 'KRW' | 'USD';
  readonly channels: readonly Channel[];
  /** Minor units: median of a basket, deviation of its logarithm, and the step prices come in. */
  readonly basket: { readonly median: number; readonly sigma: number; readonly step: number };
  /** How often it is chosen, relative to the others. */
  readonly popularity: number;
  /** Shares of approved payments that are later canceled, or refunded. */
  readonly cancels: number;
  readonly refunds: number;
  readonly ships?: boolean;
  readonly installments?: boolean;
  readonly crossBorder?: boolean;
}

/** A merchant of one run: what it sells, and its names. */
export interface Merchant extends Trade {
  readonly externalId: string;
  /** Terminals at its tills; none where it has no shop. */
  readonly terminals: readonly string[];
  /** The network of its tills. */
  readonly ipPrefix: string;
}

/** A dozen merchants, from coffee to flights. */
export const TRADES = [
  trade('coffee', 'CAFE', ['POS', 'APP'], basket(6_500, 0.4), 16, 0.002, 0.002),
  trade('corner-shop', 'CONVENIENCE', ['POS'], basket(8_200, 0.6), 18, 0.002, 0.002),
  trade('pharmacy', 'HEALTH', ['POS', 'ECOMMERCE'], basket(21_000, 0.6), 7, 0.005, 0.01),
  trade('groceries', 'GROCERY', ['APP', 'ECOMMERCE'], basket(43_000, 0.5), 11, 0.02, 0.02, {
    ships: true,
  }),
  trade('food-delivery', 'RESTAURANT', ['APP'], basket(24_000, 0.4), 13, 0.03, 0.01),
  trade('taxi', 'TRANSPORT', ['APP'], basket(12_000, 0.5), 11, 0.02, 0.004),
  trade('books', 'BOOKS', ['ECOMMERCE', 'APP'], basket(23_000, 0.5), 5, 0.02, 0.03, {
    ships: true,
  }),
  trade('fashion', 'APPAREL', ['ECOMMERCE', 'APP'], basket(62_000, 0.7), 8, 0.03, 0.12, {
    ships: true,
    installments: true,
  }),
  trade('electronics', 'ELECTRONICS', ['ECOMMERCE'], basket(190_000, 0.9), 3, 0.04, 0.05, {
    ships: true,
    installments: true,
  }),
  trade('travel', 'TRAVEL', ['ECOMMERCE', 'APP'], basket(280_000, 0.7), 2, 0.08, 0.03, {
    installments: true,
  }),
  trade('games', 'DIGITAL_GOODS', ['APP', 'ECOMMERCE'], basket(11_000, 0.8), 6, 0.005, 0.02),
  trade('overseas-mall', 'MARKETPLACE', ['ECOMMERCE'], basket(3_900, 0.7, 1), 3, 0.02, 0.04, {
    currency: 'USD',
    ships: true,
    crossBorder: true,
  }),
] as const satisfies readonly Trade[];

function basket(median: number, sigma: number, step = 100): Trade['basket'] {
  return { median, sigma, step };
}

function trade(
  code: string,
  businessType: string,
  channels: readonly Channel[],
  size: Trade['basket'],
  popularity: number,
  cancels: number,
  refunds: number,
  more: Partial<Trade> = {},
): Trade {
  return {
    code,
    businessType,
    currency: 'KRW',
    channels,
    basket: size,
    popularity,
    cancels,
    refunds,
    ...more,
  };
}

/** An ordinary basket, minor units. */
export function basketAmount(random: Random, { basket: { median, sigma, step } }: Trade): number {
  return Math.max(step, Math.round(random.logNormal(median, sigma) / step) * step);
}
