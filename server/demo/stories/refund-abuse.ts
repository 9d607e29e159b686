import { HOUR, MINUTE } from '../day.ts';
import { accompanying, captureOf, type Draft, fraud, refundOf } from '../draft.ts';
import { basketAmount } from '../merchants.ts';
import { newCard, newDevice } from '../people.ts';
import { authOf } from '../shopping.ts';
import type { Stage } from './stage.ts';

const PATTERN = 'refund abuse';

/**
 * Somebody buys all day at three shops and claims nearly everything back within hours, always in full. The purchases
 * look like anybody's; the refunds are what ought to be noticed.
 */
export function refundAbuse(stage: Stage): Draft[] {
  const { random, names, day } = stage;
  const card = newCard(random, names, 'KR');
  const device = newDevice(names, 'ios');
  const network = { ipPrefix: names.prefix(), country: 'KR' };
  const customer = {
    id: `cus_${names.next('customer')}`,
    accountAgeDays: random.whole(25, 90),
  };
  const drafts: Draft[] = [];
  const purchases = Math.max(7, Math.round(16 * stage.size));
  for (let i = 0; i < purchases; i++) {
    const merchant = stage.merchant(random.pick(['fashion', 'fashion', 'books', 'groceries']));
    const at = day.moment(random, day.from, day.to - 6 * HOUR);
    const auth = authOf({
      at,
      merchant,
      channel: 'APP',
      card,
      amountMinor: basketAmount(random, merchant),
      truth: accompanying(PATTERN),
      customer,
      device,
      network,
      shippingCountry: 'KR',
    });
    const capture = captureOf(auth, at + Math.round(random.between(10, 60) * MINUTE));
    drafts.push(auth, capture);
    if (random.chance(0.12)) continue;
    drafts.push({
      ...refundOf(auth, capture.at + Math.round(random.between(1, 4.5) * HOUR), auth.amountMinor),
      truth: fraud(PATTERN),
      reasonCode: 'ITEM_NOT_RECEIVED',
      ...(i % 3 === 0 ? { label: 'FRAUD_CONFIRMED' as const } : {}),
    });
  }
  return drafts;
}
