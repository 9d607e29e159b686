import { z } from 'zod';
import { canonicalJson } from './canonical-json.ts';
import { parseInstant } from './instant.ts';
import { OutcomeLabel } from './outcome.ts';
import { Instant, SourceEventId } from './primitives.ts';
import { problemsOfZodError, wordProblems, type Problem } from './problem.ts';
import { rawInputProblems } from './raw-input.ts';
import { crossFieldProblems, customerTypeProblems } from './transaction-rules.ts';
import { TransactionEvent, type CustomerType } from './transaction.ts';

/** Bytes of a line at most: what a body of POST /v1/transactions may have. */
export const LONGEST_LINE = 256 * 1024;

/** A past outcome label as a line of an import. */
export const LabelLine = z.strictObject({
  source_event_id: SourceEventId,
  outcome_label: OutcomeLabel,
  labelled_at: Instant,
});
/** A past outcome label as a line of an import. */
export type LabelLine = z.infer<typeof LabelLine>;

/** What a line of an import says: `body` is its canonical JSON, `at` its time in ms since 1970 UTC. */
export type ImportLine =
  | { readonly kind: 'event' | 'label'; readonly at: number; readonly body: string }
  | { readonly kind: 'refused'; readonly problems: readonly string[] }
  | { readonly kind: 'blank' };

/** What decides whether a line fits. Times in ms since 1970 UTC. */
export interface ImportBounds {
  readonly customerType: CustomerType;
  /** Payloads of events before it are not kept. */
  readonly oldest: number;
  readonly newest: number;
}

/**
 * Reads one line of an import: an event as POST /v1/transactions takes it, or an outcome label with its time. What is
 * refused there is refused here, in the same words: a path and what is wrong, never a value.
 */
export function readImportLine(text: string, bounds: ImportBounds): ImportLine {
  if (text.trim() === '') return { kind: 'blank' };
  if (Buffer.byteLength(text) > LONGEST_LINE) {
    return refused([{ path: 'line', message: `is larger than ${LONGEST_LINE} bytes` }]);
  }
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return refused([{ path: 'line', message: 'is not JSON' }]);
  }
  const problems = rawInputProblems(raw);
  if (problems.length > 0) return refused(problems);
  const isLabel = typeof raw === 'object' && raw !== null && Object.hasOwn(raw, 'outcome_label');
  return isLabel ? readLabel(raw, bounds) : readEvent(raw, bounds);
}

function readLabel(raw: unknown, { newest }: ImportBounds): ImportLine {
  const label = LabelLine.safeParse(raw);
  if (!label.success) return refused(problemsOfZodError(label.error, raw));
  const at = parseInstant(label.data.labelled_at) ?? Number.NaN;
  if (!(at <= newest)) return refused([{ path: 'labelled_at', message: 'lies in the future' }]);
  return { kind: 'label', at, body: canonicalJson(label.data) };
}

function readEvent(raw: unknown, { customerType, oldest, newest }: ImportBounds): ImportLine {
  const event = TransactionEvent.safeParse(raw);
  if (!event.success) return refused(problemsOfZodError(event.error, raw));
  const problems = [
    ...crossFieldProblems(event.data),
    ...customerTypeProblems(event.data, customerType),
  ];
  const at = parseInstant(event.data.transaction.occurred_at) ?? Number.NaN;
  const path = 'transaction.occurred_at';
  if (!(at <= newest)) problems.push({ path, message: 'lies in the future' });
  else if (at < oldest) {
    problems.push({
      path,
      message: 'is longer ago than payloads are kept (PAYLOAD_RETENTION_DAYS)',
    });
  }
  if (problems.length > 0) return refused(problems);
  return { kind: 'event', at, body: canonicalJson(event.data) };
}

const refused = (problems: readonly Problem[]): ImportLine => ({
  kind: 'refused',
  problems: wordProblems(problems),
});
