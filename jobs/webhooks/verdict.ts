import type { ClaimedDelivery } from '../../ledger/webhook-claims.ts';
import type { DeliveryOutcome } from '../../ledger/webhook-outcomes.ts';
import { excerptOf } from './excerpt.ts';
import type { FailureClass } from './failure-class.ts';
import type { Answer } from './line.ts';
import { nextWait, parseRetryAfter } from './schedule.ts';

/** The status with which a receiver asks for nothing more, ever. */
const GONE = 410;

/** What an attempt means for its delivery. */
export interface Verdict {
  readonly outcome: DeliveryOutcome;
  /** The endpoint wants nothing more. */
  readonly gone: boolean;
}

/**
 * Judges one attempt. 2xx is a delivery, whatever becomes of the body; 410 ends it; everything else, redirects included,
 * is tried again on schedule.
 *
 * @param attemptedAt ms since 1970 UTC
 * @param options.now when the answer came, ms since 1970 UTC: waits count from here
 */
export function judgeAttempt(
  delivery: ClaimedDelivery,
  answer: Answer,
  attemptedAt: number,
  options: { readonly now: number; readonly waits: readonly number[]; readonly random: number },
): Verdict {
  const { status } = answer;
  const delivered = status !== undefined && status >= 200 && status < 300;
  const gone = status === GONE;
  const { secrets } = delivery.endpoint;
  const known = [secrets?.current, secrets?.previous].filter((secret) => secret !== undefined);
  const attempt = {
    attemptedAt,
    durationMs: answer.durationMs,
    httpStatus: status,
    errorClass: delivered ? undefined : classOf(status, answer.failure),
    address: answer.address,
    answer: excerptOf(answer.body, answer.encoding, known),
  };
  const base = {
    siteId: delivery.siteId,
    endpointId: delivery.endpointId,
    eventId: delivery.eventId,
    attemptsSeen: delivery.attempts,
    attempt,
  };
  if (delivered) {
    const outcome = { ...base, state: 'DELIVERED', step: delivery.step } as const;
    return { outcome: { ...outcome, nextAttemptAt: undefined, failure: undefined }, gone };
  }
  const step = delivery.step + 1;
  const wait = gone
    ? undefined
    : nextWait(step, options.waits, {
        retryAfterMs: parseRetryAfter(answer.retryAfter, options.now),
        random: options.random,
      });
  const outcome: DeliveryOutcome =
    wait === undefined
      ? {
          ...base,
          state: 'FAILED',
          step,
          nextAttemptAt: undefined,
          failure: gone ? 'GONE' : 'EXHAUSTED',
        }
      : { ...base, state: 'PENDING', step, nextAttemptAt: options.now + wait, failure: undefined };
  return { outcome, gone };
}

function classOf(status: number | undefined, failure: FailureClass | undefined): FailureClass {
  if (status === undefined) return failure ?? 'RESET';
  return status >= 300 && status < 400 ? 'REDIRECT' : 'STATUS';
}
