import { unavailable } from './ingest-queue.ts';

/** How questions are gathered. */
export interface GatherOptions<Ask, Answer> {
  /** Answers a set in its order, with one statement. */
  readonly answer: (asks: readonly Ask[]) => Promise<readonly Answer[]>;
  /** Sets in flight at once. */
  readonly lanes: number;
  /** Questions of one set at most. */
  readonly most: number;
  /** Questions waiting at most; past it the answer is INGESTION_UNAVAILABLE at once. */
  readonly waiting: number;
}

/**
 * Turns a question of many into one statement for all: those of the same turn of the event loop, and those that come
 * while the lanes are busy, are asked together. An idle service adds no wait. A failure fails its whole set.
 */
export function gather<Ask, Answer>(
  options: GatherOptions<Ask, Answer>,
): (ask: Ask) => Promise<Answer> {
  interface Waiting {
    readonly ask: Ask;
    readonly resolve: (answer: Answer) => void;
    readonly reject: (error: unknown) => void;
  }
  let waiting: Waiting[] = [];
  let busy = 0;

  const settle = async (set: readonly Waiting[]): Promise<void> => {
    try {
      const answers = await options.answer(set.map(({ ask }) => ask));
      for (const [index, { resolve }] of set.entries()) resolve(answers[index] as Answer);
    } catch (error: unknown) {
      for (const { reject } of set) reject(error);
    }
  };
  const run = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const set = waiting.slice(0, options.most);
      waiting = waiting.slice(options.most);
      await settle(set);
    }
    busy -= 1;
  };
  return (ask) => {
    if (waiting.length >= options.waiting) return Promise.reject(unavailable());
    return new Promise((resolve, reject) => {
      waiting.push({ ask, resolve, reject });
      if (busy === options.lanes) return;
      busy += 1;
      void run();
    });
  };
}
