import { expectBody, expectError } from './bodies.ts';
import { eventOf, type Answer, type EventChanges, type Merchant } from './merchant.ts';

/** Stands for a property that is left out. */
export const ABSENT = Symbol('left out');

/** One rule of the contract as a row: what a field holds, and with which words it is refused, if it is. */
export interface FieldRow {
  /** Where: `transaction.amount_minor`; '' for the body itself. */
  readonly at: string;
  readonly value: unknown;
  /** The whole detail after `path: `, or undefined where the event is accepted. */
  readonly refused?: string;
  /** The path in the detail, where it is not `at`. */
  readonly path?: string;
  /** What else of the event must be otherwise. */
  readonly event?: EventChanges;
}

/** Values of a field that are accepted. */
export function accepts(at: string, values: readonly unknown[], event?: EventChanges): FieldRow[] {
  return values.map((value) => ({ at, value, ...(event === undefined ? {} : { event }) }));
}

/** Values of a field that are refused with one sentence. */
export function refuses(at: string, refused: string, values: readonly unknown[]): FieldRow[] {
  return values.map((value) => ({ at, value, refused }));
}

/** An event with one place changed; keys on the way that are missing are made. */
export function eventWith({ at, value, event = {} }: FieldRow): unknown {
  const body = eventOf(event);
  if (at === '') return value;
  const steps = at.split('.');
  const last = steps.pop() ?? '';
  let place = body;
  for (const step of steps) {
    place[step] ??= {};
    place = place[step] as Record<string, unknown>;
  }
  if (value === ABSENT) delete place[last];
  else place[last] = value;
  return body;
}

/** Rows sent at once. */
const TOGETHER = 24;

/**
 * One test per row: its event, sent with a key of its own, gets the verdict, word for word. The events are sent beforehand
 * and together, so that accepted and refused ones share groups.
 */
export function itHolds(rows: readonly FieldRow[], merchant: () => Merchant): void {
  const answers: Answer[] = [];

  before(async () => {
    for (let at = 0; at < rows.length; at += TOGETHER) {
      const sent = rows
        .slice(at, at + TOGETHER)
        .map((row) => merchant().submit(JSON.stringify(eventWith(row))));
      answers.push(...(await Promise.all(sent)));
    }
  });

  for (const [index, { at, value, refused, path = at }] of rows.entries()) {
    const name = at === '' ? 'the body' : at;
    it(`${name} ${worded(value)} is ${refused === undefined ? 'accepted' : 'refused'}`, () => {
      const answer = answers[index] as Answer;
      if (refused === undefined) expectBody(answer, 202, 'AcceptedIngestion');
      else expectError(answer, 'CONTRACT_VALIDATION_FAILED', [`${path || 'body'}: ${refused}`]);
    });
  }
}

function worded(value: unknown): string {
  if (value === ABSENT) return 'left out';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 40)}… (${text.length - 2})` : text;
}
