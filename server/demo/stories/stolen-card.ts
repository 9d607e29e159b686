import { HOUR, MINUTE, SECOND } from '../day.ts';
import { captureOf, chargebackOf, type Draft, fraud } from '../draft.ts';
import { newDevice } from '../people.ts';
import { authOf } from '../shopping.ts';
import { chooseVictim, habitsOf, highPrice, type Stage } from './stage.ts';

const PATTERN = 'stolen card';

/**
 * A card that bought coffee all day suddenly buys electronics and flights: at night, on a device nobody has seen, from
 * abroad and to be shipped there, through an account opened minutes ago, until the issuer declines. In the morning its holder
 * disputes what was taken.
 */
export function stolenCard(stage: Stage): Draft[] {
  const { random, names, day } = stage;
  const victim = chooseVictim(stage);
  const [card] = victim.cards;
  if (card === undefined) return [];
  const start = day.lateNight(HOUR) + Math.round(random.between(0, 15) * MINUTE);
  const country = random.pick(['VN', 'TH', 'PH']);
  const thief = { id: `cus_${names.next('customer')}`, accountAgeDays: 0 };
  const device = newDevice(names, 'android');
  const network = { ipPrefix: names.prefix(), country };
  const payments = Math.max(4, Math.round(7 * stage.size));
  const drafts = habitsOf(stage, victim, start);
  let at = start;
  for (let i = 0; i < payments; i++) {
    const merchant = stage.merchant(random.pick(['electronics', 'electronics', 'travel']));
    const disputed = i < 2;
    const declined = i === payments - 1;
    const auth = authOf({
      at,
      merchant,
      channel: 'ECOMMERCE',
      card,
      amountMinor: highPrice(random, 650_000, 2_400_000),
      truth: fraud(PATTERN),
      customer: thief,
      device,
      network,
      ...(merchant.ships === true ? { shippingCountry: country } : {}),
      ...(declined ? { declinedWith: '61' } : {}),
      label: disputed ? 'CHARGEBACK_CONFIRMED' : 'FRAUD_CONFIRMED',
    });
    drafts.push(auth);
    if (!declined) {
      const capture = captureOf(auth, at + random.whole(20, 90) * SECOND);
      drafts.push(capture);
      if (disputed) {
        // In the morning, or when the phone tells of it in time for the day's end.
        const morning = start + Math.round(random.between(4, 7) * HOUR);
        drafts.push(chargebackOf(auth, Math.min(morning, day.to - 1 - i), 'FRAUD_CARD_ABSENT'));
      }
    }
    at += Math.round(random.between(2, 8) * MINUTE);
  }
  return drafts;
}
