import { HOUR, MINUTE, SECOND } from '../day.ts';
import { accompanying, captureOf, type Draft, fraud } from '../draft.ts';
import { newDevice } from '../people.ts';
import { accountOf, authOf } from '../shopping.ts';
import { chooseVictim, habitsOf, highPrice, type Stage } from './stage.ts';

const PATTERN = 'account takeover';

/**
 * Somebody else is let into an old account, changes its telephone number and spends the stored card on gift codes and
 * electronics, from a new device in another country.
 */
export function accountTakeover(stage: Stage): Draft[] {
  const { random, names, day } = stage;
  const victim = chooseVictim(stage);
  const [card] = victim.cards;
  if (card === undefined) return [];
  const start = day.to - Math.round(random.between(2, 5) * HOUR);
  const device = newDevice(names, 'web');
  const network = { ipPrefix: names.prefix(), country: random.pick(['CN', 'RU', 'NG']) };
  const drafts = habitsOf(stage, victim, start);
  drafts.push({
    at: start,
    eventType: 'PROFILE_UPSERT',
    status: 'REQUESTED',
    merchant: stage.merchant('games'),
    amountMinor: 0,
    channel: 'ECOMMERCE',
    truth: accompanying(PATTERN),
    customer: { ...accountOf(victim), profileVersion: 90 },
    device,
    network,
    reasonCode: 'PHONE',
  });
  let at = start + Math.round(random.between(3, 9) * MINUTE);
  const payments = Math.max(3, Math.round(5 * stage.size));
  for (let i = 0; i < payments; i++) {
    const merchant = stage.merchant(random.pick(['games', 'games', 'electronics']));
    const auth = authOf({
      at,
      merchant,
      channel: 'ECOMMERCE',
      card,
      amountMinor: highPrice(random, 150_000, 500_000),
      truth: fraud(PATTERN),
      customer: accountOf(victim),
      device,
      network,
      ...(merchant.ships === true ? { shippingCountry: 'KR' } : {}),
      ...(i % 2 === 0 ? { label: 'FRAUD_CONFIRMED' as const } : {}),
    });
    drafts.push(auth, captureOf(auth, at + random.whole(10, 90) * SECOND));
    at += Math.round(random.between(3, 14) * MINUTE);
  }
  return drafts;
}
