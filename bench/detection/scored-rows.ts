import type { ScoredRow } from '../../risk/model/metrics.ts';
import type { StreamLine } from './stream.ts';

const DAY_MS = 86_400_000;

/** Days until a label is there when a test day begins, its own day included. */
const KNOWN_AFTER_DAYS = 8;

/**
 * The test rows that count: on each day, those of cards that are not known to be compromised yet. A card is known on day
 * D when it had a fraud on a day of the train part or later, but not later than D - 8.
 *
 * @param lines  of train, delay and test
 */
export function scoredRows(
  lines: readonly StreamLine[],
  scoreOf: ReadonlyMap<string, number>,
): ScoredRow[] {
  const firstFraud = new Map<string, number>();
  for (const { isFraud, customerId, at } of lines) {
    if (!isFraud) continue;
    const day = Math.floor(at / DAY_MS);
    firstFraud.set(customerId, Math.min(day, firstFraud.get(customerId) ?? Infinity));
  }
  return lines.flatMap(({ part, sourceEventId, customerId, at, isFraud }) => {
    const day = Math.floor(at / DAY_MS);
    const isKnown = (firstFraud.get(customerId) ?? Infinity) <= day - KNOWN_AFTER_DAYS;
    if (part !== 'test' || isKnown) return [];
    const score = scoreOf.get(sourceEventId);
    if (score === undefined) throw new RangeError(`There is no score for ${sourceEventId}.`);
    return [{ score, isFraud, weight: 1, day, card: customerId }];
  });
}
