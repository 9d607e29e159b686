import { z } from 'zod';
import { boundedText, Instant, parseInstant } from '../../contract/primitives.ts';

/** A Site's code: a lower-case slug of 2 to 40 characters. */
export const SiteCode = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,38})[a-z0-9]$/, {
    error: 'must be 2 to 40 characters of a-z 0-9 -, not beginning or ending with -',
  })
  .meta({ description: 'Code of the Site', example: 'acme' });

/** An id as a decimal string: ids have 64 bits, more than a JSON number holds exactly. */
export const DecimalId = z
  .string()
  .regex(/^(0|[1-9]\d{0,17})$/, { error: 'must be an id such as "17"' })
  .meta({ example: '17' });

/** A text of 1 to `max` characters that says something. */
export const statement = (max: number) =>
  boundedText(1, max).regex(/\S/, { error: 'must not be blank' });

/** An instant of ours: ISO 8601 in UTC with milliseconds. */
export const UtcInstant = z.iso.datetime();

/** A caller's instant, any offset. */
export const instantField = (description: string) => Instant.meta({ description });

/** Milliseconds since 1970 UTC of a text that {@link Instant} let pass. */
export function instantMs(text: string): number {
  const at = parseInstant(text);
  if (at === undefined) throw new RangeError('not an instant');
  return at;
}

/** An instant as it is answered. */
export const toIso = (at: number | Date): string => new Date(at).toISOString();

/** {@link toIso} where there may be none. */
export const toIsoOrNull = (at: number | Date | null | undefined): string | null =>
  at === null || at === undefined ? null : toIso(at);

/** How many rows a page holds unless asked otherwise. */
const PAGE = 50;

/** The `limit` of a page. */
export const Limit = z.int().min(1).max(500).default(PAGE).meta({ description: 'Rows of a page' });

/** The `cursor` of the next page: `next_cursor` of the one before, unchanged. */
export const cursorOf = (pattern: RegExp) =>
  z
    .string()
    .regex(pattern, { error: 'must be the next_cursor of the page before' })
    .meta({ description: 'next_cursor of the page before' });

/** The cursor of lists that are ordered by one id. */
export const IdCursor = cursorOf(/^[1-9]\d{0,17}$/);

/** The shape of every page. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ items: z.array(item), next_cursor: z.string().nullable() });

/**
 * Cuts a page out of `limit + 1` rows: the one too many only says that there is a next page.
 *
 * @param cursorFor names the place of a row
 */
export function toPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
  cursorFor: (row: Row) => string,
): { items: Item[]; next_cursor: string | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(toItem),
    next_cursor: rows.length > limit && last !== undefined ? cursorFor(last) : null,
  };
}
