import { type Day, MINUTE } from './day.ts';
import { type Draft, ORDINARY } from './draft.ts';
import type { Merchant } from './merchants.ts';
import type { Person } from './people.ts';
import type { Random } from './random.ts';
import { accountOf, isAtHome, visit } from './shopping.ts';

/** A change of one's own address, telephone number or card, ahead of a visit. */
const CHANGES_PROFILE = 0.06;

/** Draws ordinary visits, one after the other, over the whole day. */
export function* everydayVisits(
  random: Random,
  day: Day,
  people: readonly Person[],
  merchants: readonly Merchant[],
): Generator<Draft[]> {
  const knownProfiles = new Map<Person, number>();
  for (;;) {
    const person = random.weighted(people, (each) => each.activity);
    const merchant = chooseMerchant(random, person, merchants);
    const at = day.moment(random);
    const drafts = visit(random, person, merchant, at);
    const isNewcomer = person.accountAgeDays === 0 && !knownProfiles.has(person);
    if (isNewcomer || random.chance(CHANGES_PROFILE)) {
      const version = (knownProfiles.get(person) ?? random.whole(1, 6)) + 1;
      knownProfiles.set(person, version);
      const before = at - Math.round(random.between(1, 20) * MINUTE);
      drafts.unshift(profileOf(random, person, merchant, before, isNewcomer ? 1 : version));
    }
    yield drafts;
  }
}

/** Where somebody goes: mostly where they always go. */
export function chooseMerchant(
  random: Random,
  person: Person,
  merchants: readonly Merchant[],
): Merchant {
  const reachable = (each: Merchant): boolean =>
    isAtHome(person) || each.channels.some((channel) => channel !== 'POS');
  const favourites = person.favourites.filter(reachable);
  return favourites.length > 0 && random.chance(0.75)
    ? random.pick(favourites)
    : random.weighted(merchants.filter(reachable), (each) => each.popularity);
}

function profileOf(
  random: Random,
  person: Person,
  merchant: Merchant,
  at: number,
  profileVersion: number,
): Draft {
  return {
    at,
    eventType: 'PROFILE_UPSERT',
    status: 'REQUESTED',
    merchant,
    amountMinor: 0,
    channel: 'APP',
    truth: ORDINARY,
    customer: { ...accountOf(person), profileVersion },
    device: random.pick(person.devices),
    network: random.pick(person.networks),
    reasonCode: profileVersion === 1 ? 'SIGN_UP' : random.pick(['ADDRESS', 'PHONE', 'NEW_CARD']),
  };
}
