import { setTimeout as sleep } from 'node:timers/promises';
import type { IngestionStatus } from '../../contract/ingestion.ts';
import type { MerchantApi } from './api.ts';
import { inOrder } from './in-order.ts';
import type { SentEvent } from './send.ts';

/** An event with the service's judgement. */
export interface EvaluatedEvent extends SentEvent {
  readonly risk: NonNullable<IngestionStatus['risk']>;
  readonly receivedAt: string;
}

/** What came of waiting. */
export interface Evaluation {
  readonly evaluated: readonly EvaluatedEvent[];
  /** Given up by the service; an operator has to look at them. */
  readonly dead: readonly SentEvent[];
  /** Still under way when patience ended. */
  readonly unfinished: readonly SentEvent[];
}

/** Look-ups at once. */
const AT_ONCE = 16;

/** Between two rounds, ms; the contract asks for 1 to 5 seconds. */
const ROUND_MS = 1_000;

/** A look this far ahead that finds nothing finished ends the round: what is younger is not finished either. */
const LOOK_AHEAD = 32;

/** Waits until every event is evaluated, or until none was for `patienceMs`. */
export async function waitForAll(
  api: MerchantApi,
  sent: readonly SentEvent[],
  patienceMs: number,
  onProgress: (done: number) => void,
): Promise<Evaluation> {
  const evaluated = new Map<SentEvent, EvaluatedEvent>();
  const dead: SentEvent[] = [];
  let waiting = [...sent];
  let lastNews = performance.now();
  while (waiting.length > 0 && performance.now() - lastNews < patienceMs) {
    const settled = new Set<SentEvent>();
    let unsettled = 0;
    await inOrder(waiting, AT_ONCE, async (each) => {
      if (unsettled >= LOOK_AHEAD) return;
      const status = await api.status(each.ingestionId);
      if (status.risk !== null) {
        const { risk, received_at: receivedAt } = status;
        evaluated.set(each, { ...each, risk, receivedAt });
      } else if (status.evaluation_status === 'DLQ') dead.push(each);
      else {
        unsettled += 1;
        return;
      }
      settled.add(each);
      lastNews = performance.now();
      onProgress(evaluated.size + dead.length);
    });
    waiting = waiting.filter((each) => !settled.has(each));
    if (waiting.length > 0) await sleep(ROUND_MS);
  }
  return {
    evaluated: sent.flatMap((each) => evaluated.get(each) ?? []),
    dead,
    unfinished: waiting,
  };
}
