import type { OutcomeLabel } from '../../contract/outcome.ts';
import type { TransactionEvent } from '../../contract/transaction.ts';
import { Day } from './day.ts';
import type { Draft, Truth } from './draft.ts';
import { durableId, eventOf, type EventIds, idsOf } from './event.ts';
import { everydayVisits } from './everyday.ts';
import { createMerchants, createPeople, Names } from './people.ts';
import { Random } from './random.ts';
import { accountTakeover } from './stories/account-takeover.ts';
import { cardTesting } from './stories/card-testing.ts';
import { refundAbuse } from './stories/refund-abuse.ts';
import type { Stage } from './stories/stage.ts';
import { stolenCard } from './stories/stolen-card.ts';

/** Events of a run: fewer leave no room for everyday life around the frauds, more take longer than anybody watches. */
export const EVENT_RANGE = { least: 200, most: 20_000 } as const;

/** One event of the day, what it really is, and how the service will know it. */
export interface PlannedEvent {
  readonly event: TransactionEvent;
  /** transaction.tid where there is one, else source_event_id. */
  readonly id: string;
  readonly truth: Truth;
  /** What to tell the service about it once it is evaluated. */
  readonly label?: OutcomeLabel;
}

/** Which day is invented. */
export interface TrafficOptions {
  /** Decides who lives, buys and steals. */
  readonly seed: string;
  /** Part of every id and name; lower-case letters and digits. */
  readonly run: string;
  /** How many events; see {@link EVENT_RANGE}. */
  readonly events: number;
  /** The end of the day, ms since 1970 UTC. */
  readonly endsAt: number;
}

/** An event is sent this long after it happened, ms. */
const SENDING = { least: 150, most: 2_500 } as const;

/**
 * Invents a day of payments with some frauds among them. Pure: the same options give the same events, and another run
 * of the same seed at the same hour differs in names only.
 *
 * @returns exactly `events` events in the order in which they happened; every original comes before what refers to it
 */
export function createTraffic(options: TrafficOptions): PlannedEvent[] {
  const random = new Random(options.seed);
  const drafts = createDrafts(random, options);
  const sending = random.fork('sending');
  const ids = new Map<Draft, EventIds>();
  return drafts.map((draft, index) => {
    const original = draft.original === undefined ? undefined : ids.get(draft.original);
    const own = idsOf(draft, options.run, index + 1, original);
    ids.set(draft, own);
    const delay = Math.round(sending.between(SENDING.least, SENDING.most));
    return {
      event: eventOf(draft, own, delay),
      id: durableId(own),
      truth: draft.truth,
      ...(draft.label === undefined ? {} : { label: draft.label }),
    };
  });
}

function createDrafts(random: Random, { run, events, endsAt }: TrafficOptions): Draft[] {
  // Nothing is sent before it happened, not even the last event.
  const day = new Day(endsAt - SENDING.most);
  const names = new Names(run);
  const merchants = createMerchants(names);
  const crowd = Math.max(60, Math.round(events / 4.5));
  const people = new Set(createPeople(random.fork('people'), names, crowd, merchants));
  const merchant = (code: string) => {
    const found = merchants.find((each) => each.code === code);
    if (found === undefined) throw new RangeError(`there is no merchant ${code}`);
    return found;
  };
  const drafts: Draft[] = [];
  for (let round = 0; round < roundsOf(events); round++) {
    const size = Math.min(1, events / 1_500);
    for (const story of [cardTesting, stolenCard, refundAbuse, accountTakeover]) {
      const stage: Stage = {
        random: random.fork(`${story.name}/${round}`),
        names,
        day,
        people,
        merchant,
        size,
      };
      drafts.push(...happened(story(stage), day));
    }
  }
  for (const visit of everydayVisits(random.fork('everyday'), day, [...people], merchants)) {
    drafts.push(...happened(visit, day));
    if (drafts.length >= events) break;
  }
  // The last visit may be one event too long; what is cut is what came last in it.
  return drafts.slice(0, events).toSorted((a, b) => a.at - b.at);
}

/** How often each fraud is planted in a day of this many events, each time by other people. */
export const roundsOf = (events: number): number => Math.max(1, Math.round(events / 2_000));

/** What falls into the day; a follow-up of what does not is left out with it. */
function happened(drafts: readonly Draft[], day: Day): Draft[] {
  return drafts.filter(
    (draft) =>
      day.includes(draft.at) && (draft.original === undefined || day.includes(draft.original.at)),
  );
}
