/**
 * A place in the ledger of a Site in the order of acceptance, for reading page by page. An index has this order; by id
 * alone the database would sort all that is left of a period for every page.
 */
export interface LedgerPlace {
  /** Text of a timestamptz, to the microsecond. */
  readonly receivedAt: string;
  readonly id: bigint;
}

/** The place before everything that was accepted at or after an instant, ms since 1970 UTC. */
export function placeBefore(instant: number): LedgerPlace {
  return { receivedAt: new Date(instant).toISOString(), id: -1n };
}

/** Where a page of at most `limit` rows ended; undefined where nothing follows it. */
export function placeAfter(
  rows: readonly { readonly received_at: string; readonly id: string }[],
  limit: number,
): LedgerPlace | undefined {
  const last = rows.length < limit ? undefined : rows.at(-1);
  return last && { receivedAt: last.received_at, id: BigInt(last.id) };
}
