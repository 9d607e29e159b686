import type { EntityKind, SingleKind } from '../../risk/entities.ts';
import type { RiskEvent } from '../../risk/event.ts';

/**
 * The features of docs/features.md, recomputed from the plain list of earlier events. Shares no code with risk/features:
 * sizes, windows and caps are written down again, so that a slip in one of the two shows.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** window -> [bucket size, buckets back, buckets kept] */
const WINDOWS: Record<string, [size: number, back: number, keep: number]> = {
  '1m': [10 * SECOND, 6, 13],
  '1h': [5 * MINUTE, 12, 25],
  '24h': [HOUR, 24, 49],
  '7d': [DAY, 7, 38],
  '30d': [DAY, 30, 38],
};
const PLURAL = { card: 'cards', customer: 'customers', device: 'devices', merchant: 'merchants' };
const COUNTERPARTS: Record<EntityKind, SingleKind[]> = {
  card: ['customer', 'device', 'ip_prefix', 'merchant'],
  customer: ['card', 'device', 'ip_prefix'],
  device: ['card', 'customer'],
  ip_prefix: ['card', 'customer'],
  merchant: [],
  card_merchant: [],
  customer_device: [],
};
/** What a pair of entities has. */
const OF_PAIRS = [
  ...['24h', '7d', '30d'].flatMap((window) => [`attempts_${window}`, `declines_${window}`]),
  'amount_count_30d',
  'amount_mean_30d',
  'amount_ratio_30d',
  'amount_z_30d',
  'known',
  'age_seconds',
  'idle_seconds',
  'attempts_total',
  'declines_in_row',
  'fraud_confirmed',
  'false_positive',
];

/** An outcome label as a merchant sent it, ms since 1970 UTC. */
export interface SentLabel {
  readonly event: RiskEvent;
  readonly outcome: 'FRAUD_CONFIRMED' | 'CHARGEBACK_CONFIRMED' | 'FALSE_POSITIVE';
  readonly arrivedAt: number;
}

/**
 * Expected features of `event` for its entity of one kind; `earlier` holds the events of that entity and `labels` those
 * of its labels that have arrived, both in order of arrival.
 */
export function expectedFeatures(
  kind: EntityKind,
  earlier: readonly RiskEvent[],
  event: RiskEvent,
  labels: readonly SentLabel[] = [],
): Record<string, number | undefined> {
  const expected: Record<string, number | undefined> = {};
  const isPair = kind === 'card_merchant' || kind === 'customer_device';
  const put = (name: string, value: number | undefined): void => {
    if (!isPair || OF_PAIRS.includes(name)) expected[`${kind}_${name}`] = value;
  };
  const counted = earlier.filter(({ facts }) => facts.event_type !== 'PROFILE_UPSERT');
  const newest = Math.max(...counted.map(({ at }) => at));
  const bucket = (at: number, size: number): number => Math.floor(at / size);
  const inWindow = (window: string): RiskEvent[] => {
    const [size, back, keep] = WINDOWS[window] as [number, number, number];
    const to = bucket(event.at, size);
    return counted.filter(({ at }) => {
      const number = bucket(at, size);
      return number <= to && number >= to - back && number > bucket(newest, size) - keep;
    });
  };
  for (const window of Object.keys(WINDOWS)) {
    const events = inWindow(window);
    const of = (type: string): RiskEvent[] =>
      events.filter(({ facts }) => facts.event_type === type);
    const attempts = of('PAYMENT_AUTH');
    put(`attempts_${window}`, attempts.length);
    put(`approvals_${window}`, attempts.filter((e) => e.facts.status === 'APPROVED').length);
    put(`declines_${window}`, attempts.filter((e) => e.facts.status === 'DECLINED').length);
    if (window === '1m') continue;
    if (window !== '1h') {
      put(`refunds_${window}`, of('PAYMENT_REFUND').length);
      put(`cancels_${window}`, of('PAYMENT_CANCEL').length);
      put(`chargebacks_${window}`, of('PAYMENT_CHARGEBACK').length);
    }
    putAmounts(put, window, attempts, event);
  }
  putSeen(put, earlier, counted, event);
  putLabels(put, counted, event, labels);
  const [, , keep] = WINDOWS['30d'] as [number, number, number];
  for (const counterpart of COUNTERPARTS[kind]) {
    const latest = new Map<string, number>();
    for (const { at, keys, facts } of counted) {
      const key = keys[counterpart];
      const isKept = bucket(at, DAY) > bucket(newest, DAY) - keep;
      if (key === undefined || facts.event_type !== 'PAYMENT_AUTH' || !isKept) continue;
      latest.set(key, Math.max(latest.get(key) ?? -Infinity, at));
    }
    const plural = counterpart === 'ip_prefix' ? 'ip_prefixes' : PLURAL[counterpart];
    const since = (window: string): number => {
      const [size, back] = WINDOWS[window] as [number, number, number];
      return (bucket(event.at, size) - back) * size;
    };
    for (const window of Object.keys(WINDOWS)) {
      const seen = [...latest.values()].filter((at) => at >= since(window)).length;
      put(`${plural}_${window}`, Math.min(100, seen));
    }
    const own = event.keys[counterpart];
    // With more than 100 counterparts only the last 100 are known; the streams of the tests stay below.
    const isKnown = own !== undefined && (latest.get(own) ?? -Infinity) >= since('30d');
    put(`${counterpart}_is_new`, own === undefined ? undefined : isKnown ? 0 : 1);
  }
  return expected;
}

type Put = (name: string, value: number | undefined) => void;

function putAmounts(put: Put, window: string, attempts: RiskEvent[], event: RiskEvent): void {
  const amounts = attempts
    .filter(({ facts }) => facts.status === 'APPROVED' && facts.currency === event.facts.currency)
    .map(({ facts }) => facts.amount_minor);
  const count = amounts.length;
  const sum = Number(amounts.reduce((total, amount) => total + BigInt(amount), 0n));
  const mean = count === 0 ? undefined : thousandths(sum / count);
  put(`amount_count_${window}`, count);
  put(`amount_sum_${window}`, sum);
  put(`amount_mean_${window}`, mean);
  if (window !== '7d' && window !== '30d') return;
  if (window === '30d') putTypical(put, attempts, event);
  const amount = event.facts.amount_minor;
  const max = count === 0 ? undefined : Math.max(...amounts);
  put(`amount_max_${window}`, max);
  put(
    `amount_max_ratio_${window}`,
    max === undefined || max === 0 ? undefined : thousandths(amount / max),
  );
  put(
    `amount_ratio_${window}`,
    mean === undefined || mean === 0 ? undefined : thousandths(amount / mean),
  );
  if (mean === undefined || count < 2) {
    put(`amount_deviation_${window}`, undefined);
    put(`amount_z_${window}`, undefined);
    return;
  }
  const squares = amounts.reduce((total, each) => total + BigInt(each) ** 2n, 0n);
  const deviation = thousandths(Math.sqrt(Math.max(0, Number(squares) / count - mean * mean)));
  put(`amount_deviation_${window}`, deviation);
  put(`amount_z_${window}`, thousandths((amount - mean) / Math.max(deviation, mean / 10, 1)));
}

function putTypical(put: Put, attempts: RiskEvent[], event: RiskEvent): void {
  const own = attempts.filter(
    ({ facts }) => facts.status === 'APPROVED' && facts.currency === event.facts.currency,
  );
  const means = [...Map.groupBy(own, ({ at }) => Math.floor(at / DAY)).values()]
    .map(
      (day) => Number(day.reduce((sum, e) => sum + BigInt(e.facts.amount_minor), 0n)) / day.length,
    )
    .sort((a, b) => a - b);
  const middle = means[Math.ceil(means.length / 2) - 1];
  const typical = middle === undefined ? undefined : thousandths(middle);
  put('amount_typical_30d', typical);
  const ratio = typical === undefined ? undefined : event.facts.amount_minor / typical;
  put(
    'amount_typical_ratio_30d',
    ratio === undefined || typical === 0 ? undefined : thousandths(ratio),
  );
}

function putSeen(
  put: Put,
  earlier: readonly RiskEvent[],
  counted: readonly RiskEvent[],
  event: RiskEvent,
): void {
  const attempts = counted.filter(({ facts }) => facts.event_type === 'PAYMENT_AUTH');
  const rank = ({ facts }: RiskEvent): number =>
    facts.status === 'APPROVED' ? 2 : facts.status === 'DECLINED' ? 0 : 1;
  const newestSixteen = attempts
    .toSorted((a, b) => a.at - b.at || rank(a) - rank(b))
    .slice(-16)
    .filter(({ at }) => at <= event.at);
  const last = newestSixteen.at(-1);
  const sinceApproval = newestSixteen.slice(newestSixteen.findLastIndex((e) => rank(e) === 2) + 1);
  const first = Math.min(...earlier.map(({ at }) => at));
  put('known', earlier.length === 0 ? 0 : 1);
  put('age_seconds', earlier.length === 0 ? 0 : Math.max(0, event.at - first) / 1000);
  put('idle_seconds', last === undefined ? undefined : (event.at - last.at) / 1000);
  put('attempts_total', attempts.length);
  put('declines_in_row', sinceApproval.filter((e) => rank(e) === 0).length);
}

function putLabels(
  put: Put,
  counted: readonly RiskEvent[],
  event: RiskEvent,
  labels: readonly SentLabel[],
): void {
  const day = (at: number): number => Math.floor(at / DAY);
  const today = day(event.at);
  const newest = Math.max(...counted.map(({ at }) => at));
  const days = counted
    .filter(({ facts }) => facts.event_type === 'PAYMENT_AUTH')
    .map(({ at }) => day(at))
    .filter((each) => each > day(newest) - 38);
  const attempts = (from: number, to: number): number =>
    days.filter((each) => each >= from && each <= to).length;
  const of = (outcome: string): number => labels.filter((l) => l.outcome === outcome).length;
  put('fraud_confirmed', of('FRAUD_CONFIRMED'));
  put('chargeback_confirmed', of('CHARGEBACK_CONFIRMED'));
  put('false_positive', of('FALSE_POSITIVE'));
  const since = (back: number, isFraud: boolean): SentLabel[] =>
    labels.filter(
      (l) => day(l.arrivedAt) >= today - back && (l.outcome !== 'FALSE_POSITIVE') === isFraud,
    );
  put('false_positives_labelled_30d', since(30, false).length);
  const frauds = since(30, true);
  const late = frauds.reduce((sum, l) => sum + Math.round((l.arrivedAt - l.event.at) / 1000), 0);
  const delay = Math.min(7, Math.round(late / frauds.length / 86_400));
  const share = (some: number, all: number): number =>
    all <= some ? 1 : Math.round((some / all) * 1000) / 1000;
  for (const [window, back] of [
    ['24h', 1],
    ['7d', 7],
    ['30d', 30],
  ] as const) {
    const labelled = since(back, true).length;
    put(`frauds_labelled_${window}`, labelled);
    put(
      `fraud_share_${window}`,
      labelled === 0 ? 0 : share(labelled, attempts(today - delay - back, today - delay)),
    );
  }
  const instants = frauds.map((l) => l.event.at);
  const [first, last] = [Math.min(...instants), Math.max(...instants)];
  const ifAny = (value: number): number | undefined => (frauds.length === 0 ? undefined : value);
  put('fraud_delay_days', ifAny(delay));
  put('first_fraud_seconds', ifAny(Math.max(0, event.at - first) / 1000));
  put('last_fraud_seconds', ifAny(Math.max(0, event.at - last) / 1000));
  put('fraud_run_share', ifAny(share(frauds.length, attempts(day(first), day(last)))));
  put('attempts_after_fraud', ifAny(attempts(day(last) + 1, today - delay - 1)));
  put('attempts_before_fraud', ifAny(attempts(-Infinity, day(first) - 1)));
}

function thousandths(value: number): number {
  return Math.round(value * 1000) / 1000 + 0;
}
