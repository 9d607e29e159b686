import { type Day, HOUR, MINUTE } from '../day.ts';
import type { Draft } from '../draft.ts';
import type { Merchant } from '../merchants.ts';
import type { Names, Person } from '../people.ts';
import type { Random } from '../random.ts';
import { isAtHome, visit } from '../shopping.ts';

/** What a story is played with. */
export interface Stage {
  readonly random: Random;
  readonly names: Names;
  readonly day: Day;
  /** Who goes shopping. Whoever is robbed leaves: their story is told, and a blocked card buys nothing. */
  readonly people: Set<Person>;
  /** By code; see merchants.ts. */
  merchant(code: string): Merchant;
  /** 0..1: how long the story is; shorter days have shorter stories. */
  readonly size: number;
}

/** Somebody who lives here and pays by card all day, whose card is worth stealing; they do nothing else that day. */
export function chooseVictim({ random, people }: Stage): Person {
  const candidates = [...people].filter((each) => isAtHome(each) && each.accountAgeDays > 60);
  const victim = random.weighted(candidates, (each) => each.activity ** 3);
  people.delete(victim);
  return victim;
}

/** The victim's own day before it happens: coffee, lunch, a taxi, groceries; all with the same card. */
export function habitsOf(stage: Stage, victim: Person, until: number): Draft[] {
  const { random, day } = stage;
  const [card] = victim.cards;
  const one: Person = { ...victim, cards: card === undefined ? victim.cards : [card] };
  const usual = ['coffee', 'corner-shop', 'taxi', 'food-delivery', 'coffee', 'groceries'];
  return Array.from({ length: random.whole(7, 9) }, () => {
    const at = day.moment(random, day.from, Math.max(day.from + HOUR, until - 20 * MINUTE));
    return visit(random, one, stage.merchant(random.pick(usual)), at);
  }).flat();
}

/** A round price of something expensive, minor units. */
export function highPrice(random: Random, from: number, to: number): number {
  return Math.round(random.between(from, to) / 1_000) * 1_000;
}
