import { lettersOf, randomStream } from './random.ts';
import { shapeOf, SLOTS, type Slot } from './event-shapes.ts';

/** How a stream of events is made. */
export interface EventOptions {
  readonly seed: number;
  /** Sites the events are spread over; neighbours in number go to different ones. */
  readonly sites: number;
  /** Grows every event to this many bytes, by one long text; 0 leaves them at about 1 KB. */
  readonly padToBytes?: number;
  /** Ids in no order, as UUIDs are: each lands on a page of its own in an index. Otherwise they ascend. */
  readonly scatteredIds?: boolean;
}

/** One event ready to be sent. */
export interface BenchEvent {
  readonly sourceEventId: string;
  /** UTF-8 JSON. */
  readonly body: Buffer;
}

/** Shapes that events are cast from. More would not differ more: cards, customers and devices vary beside them. */
const SHAPES = 512;

/** Cards of one Site. Half of the traffic comes from the busiest quarter of them. */
const CARDS = 20_000;

/** Letters of an id after its prefix, and how many ids that makes. */
const ID_LETTERS = 10;
const ID_SPACE = 20n ** BigInt(ID_LETTERS);

/** Has no factor in common with the space (2 and 5): different numbers stay different. */
const SCATTER = 7_368_787_346_533n;

const scattered = (number: number): number => Number((BigInt(number) * SCATTER) % ID_SPACE);

interface Mould {
  readonly bytes: Buffer;
  readonly places: readonly { readonly slot: Slot; readonly at: number }[];
}

/**
 * Makes realistic events at a small fraction of what a service needs to accept them: shapes are serialised once, an
 * event is a copy with its slots overwritten. Event `number` is the same in every process of the same seed and time.
 */
export class EventSource {
  readonly #options: EventOptions;
  readonly #tag: string;
  readonly #moulds: readonly Mould[];

  constructor(options: EventOptions) {
    this.#options = options;
    this.#tag = lettersOf(options.seed, 6);
    const shapes = options.padToBytes === undefined || options.padToBytes === 0 ? SHAPES : 8;
    this.#moulds = Array.from({ length: shapes }, (_, index) =>
      mouldOf(shapeOf(options.seed, index), options.padToBytes ?? 0),
    );
  }

  /** Begins the id of every event. */
  get idPrefix(): string {
    return `ord-${this.#tag}-`;
  }

  /** The id of event `number`. */
  idOf(number: number): string {
    const place = this.#options.scatteredIds === true ? scattered(number) : number;
    return `${this.idPrefix}${lettersOf(place, ID_LETTERS)}`;
  }

  /**
   * Event `number` as it happens at `at` (ms since 1970 UTC). Reversals name an earlier event of the same Site, if
   * events are dealt to Sites in turn.
   */
  event(number: number, at: number): BenchEvent {
    const { seed, sites } = this.#options;
    const random = randomStream(seed + number * 2_654_435);
    const mould = this.#moulds[Math.floor(random() * this.#moulds.length)] as Mould;
    const site = number % sites;
    const card = site * CARDS + Math.floor(random() ** 2 * CARDS);
    const earlier = Math.max(site, number - sites * (1 + Math.floor(random() * 50)));
    const sourceEventId = this.idOf(number);
    const values: Record<Slot, string> = {
      id: sourceEventId,
      original: this.idOf(earlier),
      card: `tok_${lettersOf(card, 12)}`,
      customer: `cus_${lettersOf(Math.floor(card / 1.3), 12)}`,
      device: `dev_${lettersOf(Math.floor(card / 1.6), 12)}`,
      time: new Date(at).toISOString(),
    };
    const body = Buffer.allocUnsafe(mould.bytes.length);
    mould.bytes.copy(body);
    for (const { slot, at: place } of mould.places) body.write(values[slot], place, 'latin1');
    return { sourceEventId, body };
  }
}

function mouldOf(shape: Record<string, unknown>, padToBytes: number): Mould {
  const missing =
    padToBytes - Buffer.byteLength(JSON.stringify({ ...shape, velocity: { note: '' } }));
  const padded = missing > 0 ? { ...shape, velocity: { note: 'x'.repeat(missing) } } : shape;
  const bytes = Buffer.from(JSON.stringify(padded), 'utf8');
  const places: { slot: Slot; at: number }[] = [];
  for (const slot of Object.keys(SLOTS) as Slot[]) {
    for (let at = bytes.indexOf(SLOTS[slot]); at !== -1; at = bytes.indexOf(SLOTS[slot], at + 1)) {
      places.push({ slot, at });
    }
  }
  return { bytes, places };
}
