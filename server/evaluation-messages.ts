import { parentPort, type Worker } from 'node:worker_threads';
import { attemptErrorOf } from '../jobs/attempt-error.ts';
import type { EvaluationReport } from '../jobs/evaluation-lane.ts';
import type { AttemptError } from '../ledger/failed-attempts.ts';
import { failureKind } from '../ledger/failures.ts';

/** How a thread's start went. `away`: the database does not answer; trying again may help. */
export type StartMessage =
  | { readonly kind: 'started' }
  | { readonly kind: 'not started'; readonly away: boolean; readonly error: AttemptError };

/** What a thread reports of its evaluations. */
export type ReportMessage =
  | {
      readonly kind: 'judged';
      readonly siteIds: BigInt64Array;
      readonly receivedAt: Float64Array;
      readonly now: number;
    }
  | { readonly kind: 'failed'; readonly dead: boolean }
  | { readonly kind: 'fault'; readonly error: AttemptError };

/** What hears reports of another thread: faults come without their text, which may quote rows. */
export interface ReportHearer extends Omit<EvaluationReport, 'fault'> {
  readonly onFault: (error: AttemptError) => void;
}

/** Sends a message to whoever made this thread. */
export type Say<Message> = (message: Message) => void;

/** Says something to whoever made this thread. */
export function sayToMaker(message: unknown): void {
  // A message port, not a window: there is no origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(message);
}

/** A report that is told to another thread. */
export function tellReport(say: Say<ReportMessage>): EvaluationReport {
  return {
    judged(rows, now) {
      const siteIds = BigInt64Array.from(rows, ({ siteId }) => siteId);
      const receivedAt = Float64Array.from(rows, (row) => row.receivedAt);
      say({ kind: 'judged', siteIds, receivedAt, now });
    },
    failed: (dead) => say({ kind: 'failed', dead }),
    fault: (error) => say({ kind: 'fault', error: attemptErrorOf(error) }),
  };
}

/** Reports what another thread told. */
export function hearReport(
  message: ReportMessage,
  { judged, failed, onFault }: ReportHearer,
): void {
  if (message.kind === 'failed') failed(message.dead);
  else if (message.kind === 'fault') onFault(message.error);
  else {
    const { now, receivedAt, siteIds } = message;
    judged(
      Array.from(siteIds, (siteId, index) => ({ siteId, receivedAt: receivedAt[index] ?? now })),
      now,
    );
  }
}

/** Starts something and tells how that went. */
export function tellStart(start: () => Promise<void>, say: Say<StartMessage>): void {
  start().then(
    () => say({ kind: 'started' }),
    (error: unknown) =>
      say({
        kind: 'not started',
        away: failureKind(error) === 'unavailable',
        error: attemptErrorOf(error),
      }),
  );
}

/** Resolves when a thread that was told to start has; rejects when it says that it could not, or ends. */
export function hearStart(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error): void => {
      worker.off('message', hear);
      worker.off('exit', ended);
      if (error === undefined) resolve();
      else reject(error);
    };
    const hear = (message: StartMessage | { readonly kind: 'other' }): void => {
      if (message.kind === 'started') settle();
      else if (message.kind === 'not started') settle(startError(message));
    };
    const ended = (): void => settle(new Error('the evaluation thread ended at its start'));
    worker.on('message', hear);
    worker.on('exit', ended);
  });
}

/** SQLSTATE of a connection that could not be made: errors lose their code between threads. */
const CONNECTION_FAILURE = '08006';

function startError({ away, error }: StartMessage & { readonly kind: 'not started' }): Error {
  const made = new Error(`evaluations did not start: ${error.errorClass} at ${error.errorPlace}`);
  return away ? Object.assign(made, { code: CONNECTION_FAILURE }) : made;
}
