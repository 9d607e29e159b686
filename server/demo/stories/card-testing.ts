import { MINUTE, SECOND } from '../day.ts';
import { accompanying, captureOf, type Draft, fraud } from '../draft.ts';
import { type Card, newCard, newDevice } from '../people.ts';
import { authOf } from '../shopping.ts';
import { highPrice, type Stage } from './stage.ts';

const PATTERN = 'card testing';

/** What issuers answer to numbers that are guessed, expired or blocked. */
const ANSWERS = ['14', '14', '54', '05', '05', '41', '82'] as const;

/**
 * A list of stolen cards is tried out on one device and network: one small payment every few seconds, nearly all
 * declined, with a new throwaway account every ten. The cards that work buy gift codes half an hour later.
 */
export function cardTesting(stage: Stage): Draft[] {
  const { random, names, day } = stage;
  const merchant = stage.merchant('games');
  const device = newDevice(names, 'web');
  const network = { ipPrefix: names.prefix(), country: random.pick(['RO', 'VN', 'BR']) };
  const tries = Math.max(12, Math.round(48 * stage.size));
  let at = Math.round(random.between(day.from + 4 * 60 * MINUTE, day.to - 120 * MINUTE));
  let account = { id: '', accountAgeDays: 0 };
  const drafts: Draft[] = [];
  const working: Card[] = [];
  for (let i = 0; i < tries; i++) {
    if (i % 10 === 0) account = { id: `cus_${names.next('customer')}`, accountAgeDays: 0 };
    const card = newCard(random, names, random.pick(['US', 'JP', 'KR']));
    const works = random.chance(0.14) || (i === tries - 1 && working.length === 0);
    const auth = authOf({
      at,
      merchant,
      channel: 'ECOMMERCE',
      card,
      amountMinor: random.whole(10, 19) * 100,
      truth: fraud(PATTERN),
      customer: account,
      device,
      network,
      ...(works ? { label: 'FRAUD_CONFIRMED' } : { declinedWith: random.pick(ANSWERS) }),
    });
    drafts.push(auth);
    if (works) {
      working.push(card);
      drafts.push(captureOf(auth, at + random.whole(5, 60) * SECOND));
    }
    at += Math.round(random.between(6, 25) * SECOND);
  }
  at += Math.round(random.between(25, 45) * MINUTE);
  for (const card of working) {
    const auth = authOf({
      at,
      merchant,
      channel: 'ECOMMERCE',
      card,
      amountMinor: highPrice(random, 90_000, 300_000),
      truth: fraud(PATTERN),
      customer: account,
      device,
      network,
      label: 'FRAUD_CONFIRMED',
    });
    drafts.push(auth, { ...captureOf(auth, at + 30 * SECOND), truth: accompanying(PATTERN) });
    at += Math.round(random.between(1, 5) * MINUTE);
  }
  return drafts;
}
