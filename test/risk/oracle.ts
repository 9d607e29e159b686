import type { EntityKind } from '../../risk/entities.ts';
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
const COUNTERPARTS: Record<EntityKind, EntityKind[]> = {
  card: ['customer', 'device', 'ip_prefix', 'merchant'],
  customer: ['card', 'device', 'ip_prefix'],
  device: ['card', 'customer'],
  ip_prefix: ['card', 'customer'],
  merchant: [],
};

/** Expected features of `event` for its entity of one kind; `earlier` holds the events of that entity, in order of arrival. */
export function expectedFeatures(
  kind: EntityKind,
  earlier: readonly RiskEvent[],
  event: RiskEvent,
): Record<string, number | undefined> {
  const expected: Record<string, number | undefined> = {};
  const put = (name: string, value: number | undefined): void => {
    expected[`${kind}_${name}`] = value;
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
  const amount = event.facts.amount_minor;
  put(`amount_max_${window}`, count === 0 ? undefined : Math.max(...amounts));
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

function thousandths(value: number): number {
  return Math.round(value * 1000) / 1000 + 0;
}
