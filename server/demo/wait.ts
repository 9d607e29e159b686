import type { IngestionStatus } from '../../contract/ingestion.ts';
import type { MerchantApi } from './api.ts';
import { inOrder } from './in-order.ts';
import { pause } from './pause.ts';
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
const ROUND_MS = { shortest: 1_000, longest: 5_000 } as const;

/** This many that are not finished end a round: what is younger is hardly finished either. */
const LOOK_AHEAD = 16;

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
  let round: number = ROUND_MS.shortest;
  const look = async (each: SentEvent): Promise<boolean> => {
    const status = await api.status(each.ingestionId);
    if (status.risk !== null) {
      const { risk, received_at: receivedAt } = status;
      evaluated.set(each, { ...each, risk, receivedAt });
    } else if (status.evaluation_status === 'DLQ') dead.push(each);
    else return false;
    lastNews = performance.now();
    onProgress(evaluated.size + dead.length);
    return true;
  };
  while (waiting.length > 0 && performance.now() - lastNews < patienceMs) {
    const [oldest, ...younger] = waiting;
    if (oldest === undefined) break;
    // The oldest is looked at alone, so that waiting for a service that is behind costs one call a round.
    if (await look(oldest)) {
      const unsettled = new Set<SentEvent>();
      await inOrder(younger, AT_ONCE, async (each) => {
        if (unsettled.size >= LOOK_AHEAD || !(await look(each))) unsettled.add(each);
      });
      waiting = younger.filter((each) => unsettled.has(each));
      round = ROUND_MS.shortest;
    } else round = Math.min(ROUND_MS.longest, round * 1.5);
    if (waiting.length > 0) await pause(Math.min(round, patienceMs));
  }
  return {
    evaluated: sent.flatMap((each) => evaluated.get(each) ?? []),
    dead,
    unfinished: waiting,
  };
}
