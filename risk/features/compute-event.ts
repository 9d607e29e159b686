import { Channel, TransactionStatus } from '../../contract/transaction.ts';
import type { RiskEvent } from '../event.ts';
import { featurePosition } from './definitions.ts';

const STATUSES = new Map(TransactionStatus.options.map((status, position) => [status, position]));
const CHANNELS = new Map(Channel.options.map((channel, position) => [channel, position]));

/** Positions follow each other in the order of the definitions. */
const FIRST = featurePosition('event_amount') as number;

const MS_PER_DAY = 86_400_000;
/** 1970-01-01 was a Thursday. */
const FIRST_WEEKDAY = 3;

/** Writes what the event itself says. */
export function writeEvent(values: number[], { at, facts }: RiskEvent): void {
  values[FIRST] = facts.amount_minor;
  values[FIRST + 1] = currencyNumber(facts.currency);
  values[FIRST + 2] = STATUSES.get(facts.status) ?? Number.NaN;
  values[FIRST + 3] = CHANNELS.get(facts.channel) ?? Number.NaN;
  values[FIRST + 4] = facts.hour_utc;
  const day = Math.floor(at / MS_PER_DAY) + FIRST_WEEKDAY;
  values[FIRST + 5] = day - Math.floor(day / 7) * 7;
  values[FIRST + 6] = facts.installment_months ?? Number.NaN;
  values[FIRST + 7] = facts.is_cross_border ? 1 : 0;
  values[FIRST + 8] = flag(facts.issuer_differs_from_network);
  values[FIRST + 9] = flag(facts.issuer_differs_from_shipping);
  values[FIRST + 10] = flag(facts.network_differs_from_shipping);
}

function currencyNumber(currency: string): number {
  let number = 0;
  for (let i = 0; i < currency.length; i++) number = number * 26 + currency.charCodeAt(i) - 65;
  return number;
}

function flag(fact: boolean | undefined): number {
  if (fact === undefined) return Number.NaN;
  return fact ? 1 : 0;
}
